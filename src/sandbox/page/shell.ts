/** The page before its module has run: head, landmarks, and what to do where it cannot run. */

/** @param base path below which everything is found */
export function shell(base: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sandbox · profiles</title>
<link rel="icon" href="${base}icon.svg">
<link rel="stylesheet" href="${base}page.css">
<script type="module" src="${base}page.js"></script>
</head>
<body data-base="${base}">
<div id="app"><header class="top"><p class="brand">profiles <span>sandbox</span></p></header><main><h1>Sandbox</h1><noscript><p>This page needs JavaScript. The same data, as JSON, is at <a href="${base}api/overview">api/overview</a>.</p></noscript></main></div>
</body>
</html>
`;
}

/** What a visitor without the key sees. */
export function stranger(): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Key needed · profiles sandbox</title></head>
<body>
<h1>This address has no valid key</h1>
<p>The page's address changes each time the sandbox starts. Copy it from the terminal in which <code>profiles sandbox</code> runs.</p>
</body>
</html>
`;
}
