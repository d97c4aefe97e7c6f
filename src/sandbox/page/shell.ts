/** The document of the page, and its files. */
import { existsSync, readFileSync } from 'node:fs';
import { UsageError } from '../../engine/errors.js';
import { type Answer, text } from '../answer.js';

const HTML = 'text/html; charset=utf-8';

/** @param base path that all addresses of the page begin with */
export function shell(base: string): Answer {
  return text(
    HTML,
    `<!doctype html>
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
`,
  );
}

/** The document for a visitor without the key. */
export function stranger(): Answer {
  return text(
    HTML,
    `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Key needed · profiles sandbox</title></head>
<body>
<h1>This address has no valid key</h1>
<p>The page's address changes each time the sandbox starts. Copy it from the terminal in which <code>profiles sandbox</code> runs.</p>
</body>
</html>
`,
    403,
  );
}

/** One of the page's files; undefined if there is none with this name. */
export function asset(name: string): Answer | undefined {
  if (name === 'page.js') return text('text/javascript; charset=utf-8', readBuilt(name));
  if (name === 'page.css') return text('text/css; charset=utf-8', readBuilt(name));
  return name === 'icon.svg' ? text('image/svg+xml', ICON) : undefined;
}

/** Where the files are: beside the bundle, or in dist/ if the sources are run directly. */
const PLACES = ['./', '../../../dist/'];

/** @throws UsageError if the package was not built */
function readBuilt(name: string): string {
  const file = PLACES.map((place) => new URL(place + name, import.meta.url)).find((url) => existsSync(url));
  if (file !== undefined) return readFileSync(file, 'utf8');
  throw new UsageError(`the sandbox's page is not built: ${name} is missing`, { hint: 'npm run build' });
}

/** The icon: lines of a table in a rounded square. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#4338ca"/><path d="M8 10h16M8 16h16M8 22h9" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>';
