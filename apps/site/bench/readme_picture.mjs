// The README's picture of the space of sizes, once for light pages and once for dark ones: GitHub shows images, not the site's
// charts, and gives them neither fonts nor colors. `npx vitest run readme_picture -u` writes it.
import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import { geometricMeans } from './stored_results.mjs'

/** The colors of .vitepress/theme/charts.css on the pages of GitHub. */
const THEMES = {
  light: { ink: '#1f2328', paper: '#ffffff', grid: '#d1d9e0', series: ['#b8461e', '#3a6ea5'] },
  dark: { ink: '#f0f6fc', paper: '#0d1117', grid: '#3d444d', series: ['#f0906a', '#7db2ea'] },
}

/** Geometric means of docs/bench/space.md as bars that end at 1 if the fastest other library is as fast. */
export function readmePicture(space, theme) {
  const { ink, paper, grid, series } = THEMES[theme]
  const bars = geometricMeans(space)
  const kinds = [...new Set(bars.map(({ kind }) => kind))]
  const sets = [...new Set(bars.map(({ set }) => set))]
  const { document } = parseHTML('<!doctype html><html><body></body></html>')
  const place = { fy: 'kind', y: 'set', x: 'ratio' }
  const svg = Plot.plot({
    ...{ document, width: 760, height: 60 + 52 * kinds.length, marginLeft: 170, marginRight: 80, marginTop: 30 },
    x: { domain: [0, 1], ticks: 5, label: null, tickSize: 0 },
    y: { domain: sets, axis: null, padding: 0.08 },
    fy: { domain: kinds, label: null, padding: 0.25 },
    color: { domain: sets, range: series },
    marks: [
      Plot.gridX({ ticks: 5, stroke: grid, strokeOpacity: 1 }),
      Plot.barX(bars, { ...place, fill: 'set' }),
      Plot.text(bars, { ...place, x: 0, text: 'set', textAnchor: 'start', dx: 6, fill: paper }),
      Plot.text(bars, { ...place, text: ({ ratio }) => ratio.toFixed(2), textAnchor: 'start', dx: 6, fill: ink }),
      Plot.ruleX([1], { stroke: ink, strokeWidth: 1.5, strokeDasharray: '5 4' }),
      Plot.text(kinds.slice(0, 1), {
        ...{ x: 1, fy: (kind) => kind, frameAnchor: 'top', dy: -16, fill: ink, text: () => 'fastest other library' },
      }),
    ],
    style: { fontSize: '14px', fontFamily: 'system-ui, sans-serif', color: ink, background: 'none' },
  })
  svg.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  svg.setAttribute('role', 'img')
  svg.setAttribute('aria-label', 'Time of the cpu executor over that of the fastest other library')
  svg.removeAttribute('class')
  for (const style of svg.querySelectorAll('style')) style.remove()
  return `${svg.outerHTML}\n`
}
