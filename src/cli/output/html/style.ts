/** The style sheet of the report. The policy of the page allows only its hash, so no other styles apply. */
export const CSS = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f6f6f9, #131417);
  --paper: light-dark(#ffffff, #1c1d22);
  --line: light-dark(#e2e3e8, #33353d);
  --text: light-dark(#1a1c22, #e9eaee);
  --quiet: light-dark(#5b606c, #a2a7b4);
  --accent: light-dark(#4338ca, #a5b4fc);
  --good: light-dark(#17693a, #7fdca4);
  --warn: light-dark(#824706, #f6c56f);
  --bad: light-dark(#b42318, #fda29b);
  --completed: light-dark(#1f9254, #3fb977);
  --submitted: light-dark(#6d64e8, #8f88f5);
  --rejected: light-dark(#d33a2c, #ef6a5e);
  --waiting: light-dark(#d99a2b, #d9a441);
  --faint: light-dark(#d4d7df, #42464f);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  -webkit-text-size-adjust: 100%;
}
* { box-sizing: border-box; overflow-wrap: anywhere; }
html { background: var(--ground); color: var(--text); }
body { margin: 0 auto; max-width: 1180px; padding: 1.75rem 1.5rem 3rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: 0.5rem; top: -4rem; background: var(--paper); padding: 0.5rem 1rem; z-index: 1; }
.skip:focus { top: 0.5rem; }
a { color: var(--accent); }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 0.9em; }
.quiet, small, .brand, caption, dt, footer { color: var(--quiet); font-size: 0.9rem; }
small { display: block; font-weight: 400; }
.hint { color: var(--text); }
.brand { margin: 0 0 0.25rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 0.6rem; }
h2 { font-size: 1.15rem; margin: 0 0 0.75rem; }
p { margin: 0 0 0.6rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; list-style: none; padding: 0; margin: 1.25rem 0; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem 1.2rem; margin-bottom: 1rem; }
.tag { display: inline-block; border: 1px solid; border-radius: 99px; padding: 0 0.6rem; font-size: 0.9rem; font-weight: 600; }
.outcome .tag { font-size: 1rem; padding: 0.2rem 0.75rem; }
.tag.good { color: var(--good); }
.tag.warn { color: var(--warn); }
.tag.bad { color: var(--bad); }
.facts { display: flex; flex-wrap: wrap; gap: 0.8rem 2.75rem; margin: 0; }
.facts + .facts { margin-top: 1rem; padding-top: 1rem; border-top: 1px solid var(--line); }
.facts dd { margin: 0; }
.large dd { font-size: 1.35rem; font-weight: 600; line-height: 1.3; }
.next p { margin: 0 0 0.3rem; }
.next p::first-letter { text-transform: uppercase; }
.next pre { margin: 0 0 0.75rem; padding: 0.6rem 0.8rem; background: var(--ground); border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
table + table, .cut + table { margin-top: 1.5rem; }
caption { text-align: start; padding-bottom: 0.35rem; }
th, td { text-align: start; vertical-align: top; padding: 0.45rem 0.9rem 0.45rem 0; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--quiet); font-size: 0.86rem; vertical-align: bottom; }
.number { text-align: end; white-space: nowrap; }
.cut { color: var(--warn); margin: 0.75rem 0 0; }
ul { margin: 0; padding-inline-start: 1.25rem; }
ul.plain { list-style: none; padding: 0; }
svg { display: block; forced-color-adjust: none; }
.job.good { fill: var(--completed); }
.job.none { fill: var(--submitted); }
.job.warn { fill: var(--waiting); }
.ground, .space { fill: var(--faint); }
.job.bad { fill: var(--rejected); }
.wait { fill: url("#hatch"); }
.patterns { position: absolute; width: 0; height: 0; }
.stripe { stroke: var(--waiting); stroke-width: 6; }
.time { width: 36%; }
.bar { width: 100%; height: 1rem; margin-top: 0.25rem; }
.bar .ground { opacity: 0.35; }
.job.open { opacity: 0.6; }
@media print, (min-width: 700.1px) {
  .number + :not(.number) { padding-inline-start: 0.9rem; }
  .columns th[scope="row"] { width: 22%; }
}
@media screen and (max-width: 700px) {
  body { padding: 1.1rem 0.75rem 2rem; }
  .wide { display: none; }
  .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .cards, .cards caption, .cards tbody, .cards tr, .cards tbody > tr > * { display: block; width: auto; }
  .cards tr { padding: 0.6rem 0; border-top: 1px solid var(--line); }
  .cards tbody > tr > * { border: 0; padding: 0.1rem 0; text-align: start; white-space: normal; }
  .cards td:not(.time)::before { content: attr(data-label) ": "; color: var(--quiet); font-size: 0.86rem; }
}
@media print {
  :root { color-scheme: light; --ground: #fff; font-size: 10.5pt; }
  @page { margin: 14mm; }
  body { max-width: none; padding: 0; }
  nav, .skip { display: none; }
  section { border: 0; border-radius: 0; border-top: 1px solid var(--line); padding: 0.9rem 0 0.4rem; margin: 0; }
  h2, caption { break-after: avoid; }
  tr, li, .facts > div { break-inside: avoid; }
  svg, .tag, .next pre { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
`;
