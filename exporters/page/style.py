"""How the page looks: on a screen, on a phone (below 900 pixels rows of tables become cards, but for tables of a few
numbers) and on paper. Nothing may make it wider than the window: cells have a least width only where there is room."""

STYLE = """
:root { color-scheme: light dark; --line: #8886; --official: #8a8f98; --rule: #4f8fd0; --corrected: #2e9e6b; }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
h1 { font-size: 1.6rem; margin: .5rem 0; }
h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.5rem 0 .5rem; }
h1, h2, h3, p, td, th, li { overflow-wrap: anywhere; }
nav ul { columns: 18rem; padding-left: 1.2rem; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem; }
.numbers { width: auto; min-width: min(24rem, 100%); }
th, td { text-align: left; vertical-align: top; padding: .2rem .5rem; border-bottom: 1px solid var(--line); }
th { font-size: .85em; }
td:last-child:not(.right) { font-size: .9em; }
.right { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
.bars { width: 9rem; }
.key { display: inline-block; width: .9em; height: .9em; }
.bars svg { display: block; width: 100%; height: 1.3rem; }
.track { fill: #8883; }
.official { fill: var(--official); background: var(--official); }
.rule { fill: var(--rule); background: var(--rule); }
.corrected { fill: var(--corrected); background: var(--corrected); }
.whisker { stroke: currentColor; stroke-width: 1.5px; vector-effect: non-scaling-stroke; }
.l1 { padding-left: 1.5rem; } .l2 { padding-left: 2.5rem; } .l3 { padding-left: 3.5rem; } .l4 { padding-left: 4.5rem; }
@media screen and (min-width: 901px), print {
  td:not(.right) { min-width: 4.5rem; }
  td:first-child:not(.right), td:last-child:not(.right) { min-width: 5rem; }
}
@media screen and (min-width: 901px) {
  td:first-child:not(.right), td:last-child:not(.right) { min-width: 8rem; }
}
@media screen and (min-width: 1100px) {
  td:not(.right) { min-width: 5.5rem; }
  td:nth-child(2):not(.right, .bars) { min-width: 8rem; }
  td:first-child:not(.right), td:last-child:not(.right) { min-width: 10rem; }
  .figures td:first-child { min-width: 17rem; }
}
@media screen and (max-width: 900px) {
  .cards, .cards :is(thead, tbody, tr, td, th:first-child) { display: block; width: 100%; }
  .cards th:not(:first-child) { position: absolute; clip-path: inset(50%); height: 1px; width: 1px; overflow: hidden; }
  .cards th { border: 0; padding: .2rem 0; font-size: 1rem; }
  .cards tbody tr { border: 1px solid var(--line); border-radius: .4rem; margin: 0 0 .5rem; padding: .3rem .2rem; }
  .cards td { border: 0; padding: .1rem .5rem; text-align: left; }
  .cards td:first-child { font-weight: 600; }
  .cards td[data-head]:not([data-head=""])::before {
    content: attr(data-head) ": "; font-size: .85em; opacity: .75;
  }
  .cards td:empty { display: none; }
  .numbers { width: 100%; }
}
@page { margin: 1.5cm; }
@media print {
  body { font-size: 10pt; max-width: none; padding: 0; }
  nav { display: none; }
  tr, h2, h3 { break-inside: avoid; }
  h2, h3, h3 + p { break-after: avoid; }
  table { font-size: 9pt; }
  .figures td:first-child { min-width: 9rem; }
  .l1 { padding-left: 1rem; } .l2 { padding-left: 1.5rem; } .l3 { padding-left: 2rem; } .l4 { padding-left: 2.5rem; }
  td.bars { width: 4rem; min-width: 4rem; }
  svg, .key { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
