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
  --good-ground: light-dark(#e7f6ed, #16301f);
  --warn: light-dark(#824706, #f6c56f);
  --warn-ground: light-dark(#fdf2df, #38290f);
  --bad: light-dark(#b42318, #fda29b);
  --bad-ground: light-dark(#fdeceb, #3a1d1b);
  --none-ground: light-dark(#eef0ff, #272a45);
  --completed: light-dark(#1f9254, #3fb977);
  --submitted: light-dark(#6d64e8, #8f88f5);
  --rejected: light-dark(#d33a2c, #ef6a5e);
  --waiting: light-dark(#d99a2b, #d9a441);
  --muted: light-dark(#a9aebb, #5d6270);
  --faint: light-dark(#d4d7df, #42464f);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  -webkit-text-size-adjust: 100%;
}
* { box-sizing: border-box; }
html { background: var(--ground); color: var(--text); }
body { margin: 0 auto; max-width: 1180px; padding: 1.75rem 1.5rem 3rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: 0.5rem; top: -4rem; background: var(--paper); padding: 0.5rem 1rem; z-index: 1; }
.skip:focus { top: 0.5rem; }
a { color: var(--accent); }
bdi { overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 0.9em; overflow-wrap: anywhere; }
.quiet, small, .brand { color: var(--quiet); }
small { display: block; font-size: 0.86rem; font-weight: 400; }
.hint { color: var(--text); }
header { margin-bottom: 1.25rem; }
.brand { margin: 0 0 0.25rem; font-size: 0.9rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 0.6rem; overflow-wrap: anywhere; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 0 0 0.75rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 0.5rem; }
p { margin: 0 0 0.6rem; overflow-wrap: anywhere; }
.outcome { font-size: 1.05rem; margin-bottom: 0; }
.outcome .tag { font-size: 1rem; padding: 0.2rem 0.75rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; list-style: none; padding: 0; margin: 0 0 1.25rem; font-size: 0.95rem; }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 1.1rem 1.25rem 1.2rem; margin-bottom: 1rem; }
.tag { display: inline-block; border-radius: 99px; padding: 0.05rem 0.6rem; font-size: 0.9rem; font-weight: 600; }
.tag.good { color: var(--good); background: var(--good-ground); }
.tag.warn { color: var(--warn); background: var(--warn-ground); }
.tag.bad { color: var(--bad); background: var(--bad-ground); }
.tag.none { color: var(--text); background: var(--none-ground); }
.facts { display: flex; flex-wrap: wrap; gap: 0.8rem 2.75rem; margin: 0; }
.facts > div { min-width: 0; max-width: 100%; }
.facts dt { color: var(--quiet); font-size: 0.86rem; }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.facts .large dd { font-size: 1.35rem; font-weight: 600; font-variant-numeric: tabular-nums; line-height: 1.3; }
.facts + .facts { margin-top: 1rem; padding-top: 1rem; border-top: 1px solid var(--line); }
.next p { margin: 0 0 0.3rem; }
.next p::first-letter { text-transform: uppercase; }
.next pre { margin: 0 0 0.75rem; padding: 0.6rem 0.8rem; background: var(--ground); border: 1px solid var(--line); border-radius: 6px; white-space: pre-wrap; }
.next pre:last-child { margin-bottom: 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
table + table, table + .cut + table { margin-top: 1.5rem; }
caption { text-align: start; color: var(--quiet); font-size: 0.9rem; padding-bottom: 0.35rem; overflow-wrap: anywhere; }
th, td { text-align: start; vertical-align: top; padding: 0.45rem 0.9rem 0.45rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
th:last-child, td:last-child { padding-inline-end: 0; }
thead th { border-top: 0; border-bottom: 1px solid var(--line); color: var(--quiet); font-size: 0.86rem; font-weight: 600; overflow-wrap: normal; vertical-align: bottom; }
tbody tr:first-child > * { border-top: 0; }
tbody th { font-weight: 600; }
.number { text-align: end; white-space: nowrap; }
.jobs .job { min-width: 11rem; }
.jobs .tag + small { margin-top: 0.2rem; }
.total > * { border-top: 2px solid var(--line); font-weight: 600; }
.cut { color: var(--warn); margin: 0.75rem 0 0; }
ul { margin: 0; padding-inline-start: 1.25rem; }
ul.plain { list-style: none; padding: 0; }
li + li { margin-top: 0.35rem; }
nav li + li { margin: 0; }
li { overflow-wrap: anywhere; }
table + .quiet { margin: 0.75rem 0 0; }
svg { display: block; }
.sum { width: 100%; height: 1.6rem; border-radius: 5px; margin-bottom: 0.75rem; }
.legend { max-width: 52rem; }
.swatch { display: inline-block; width: 0.75rem; height: 0.75rem; margin-inline-end: 0.55rem; border-radius: 3px; }
.meter { width: 5.5rem; height: 0.3rem; margin: 0.25rem 0 0 auto; border-radius: 2px; }
.ground { fill: var(--faint); }
.full { fill: var(--accent); }
.completed { fill: var(--completed); }
.submitted, .planned { fill: var(--submitted); }
.merged { fill: var(--waiting); }
.unchanged { fill: var(--muted); }
.filtered { fill: var(--faint); }
.rejected { fill: var(--rejected); }
.unknown, .unsent { fill: url("#hatch"); }
.patterns { position: absolute; width: 0; height: 0; }
.stripe { stroke: var(--waiting); stroke-width: 6; }
.patterns .space { fill: var(--faint); }
.time { width: 36%; min-width: 12rem; }
.bar { width: 100%; height: 1rem; margin-top: 0.25rem; }
.bar .ground { opacity: 0.35; }
.bar .job.good { fill: var(--completed); }
.bar .job.bad { fill: var(--rejected); }
.bar .job.warn { fill: var(--waiting); }
.bar .job.none { fill: var(--submitted); }
.bar .job.open { opacity: 0.6; }
.bar .wait { fill: url("#hatch"); }
.bar .break { fill: var(--paper); }
.axis { display: flex; justify-content: space-between; font-weight: 400; }
.jobs th[scope="row"] { min-width: 8.5rem; }
.columns th[scope="row"] { width: 22%; }
footer { color: var(--quiet); font-size: 0.9rem; margin-top: 1.5rem; }
footer p { margin: 0 0 0.25rem; }
@media print, (min-width: 700.1px) {
  .number + td:not(.number), .number + th:not(.number) { padding-inline-start: 0.9rem; }
}
@media screen and (max-width: 700px) {
  body { padding: 1.1rem 0.75rem 2rem; }
  section { padding: 0.9rem 0.85rem 1rem; }
  h1 { font-size: 1.4rem; }
  .wide { display: none; }
  .cards thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .facts { gap: 0.7rem 1.75rem; }
  .cards, .cards caption, .cards tbody, .cards tr { display: block; }
  .cards tbody tr > th, .cards tbody tr > td { display: block; width: auto; min-width: 0; }
  .cards tr { padding: 0.6rem 0; border-top: 1px solid var(--line); }
  .cards tr:first-child { border-top: 0; padding-top: 0.2rem; }
  .cards tbody > tr > * { border: 0; padding: 0.1rem 0; text-align: start; white-space: normal; }
  .cards td:empty { display: none; }
  .cards td::before { content: attr(data-label) ": "; color: var(--quiet); font-size: 0.86rem; }
  .cards .time::before { content: none; }
  .jobs th[scope="row"]::before { content: "Request "; }
  .meter { margin-inline-start: 0; }
  .cards .meter { width: 100%; }
}
@media print {
  :root { color-scheme: light; --ground: #fff; font-size: 10.5pt; }
  @page { margin: 14mm; }
  h1 { font-size: 1.5rem; }
  .time { min-width: 10rem; }
  body { max-width: none; padding: 0; }
  nav, .skip { display: none; }
  section { border: 0; border-radius: 0; border-top: 1px solid var(--line); padding: 0.9rem 0 0.4rem; margin: 0; }
  h2, caption { break-after: avoid; }
  tr, li, .facts > div, .sum { break-inside: avoid; }
  thead { display: table-header-group; }
  svg, .tag, .next pre { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
@media (forced-colors: active) {
  .tag { border: 1px solid; }
  svg { forced-color-adjust: none; }
}
`;
