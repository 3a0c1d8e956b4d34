/** A chart is drawn twice, and the page shows the one that fits: SVG text shrinks with its picture, and becomes unreadable. */
export interface ChartSize {
  readonly className: 'wide' | 'narrow'
  readonly width: number
  readonly fontSize: number
  /** Ticks of a horizontal axis, at most. */
  readonly ticks: number
}

const SIZES: readonly ChartSize[] = [
  { className: 'wide', width: 860, fontSize: 13, ticks: 8 },
  { className: 'narrow', width: 320, fontSize: 12, ticks: 4 },
]

/** CSS rules of pages with charts of both sizes. */
export const CHART_STYLE = `.scrolled { margin: 0; overflow-x: auto; } .scrolled svg { max-width: none; }
svg.narrow { display: none; } svg.wide, svg.narrow { width: 100%; }
@media (max-width: 45rem) { svg.wide { display: none; } svg.narrow { display: block; max-width: 28rem; } }`

/** The SVG of every size, one of which is seen. */
export function everySize(draw: (size: ChartSize) => { readonly outerHTML: string }): string {
  return SIZES.map((size) => draw(size).outerHTML.replace('<svg ', `<svg data-size="${size.className}" `))
    .map((svg, index) => svg.replace(/class="([^"]*)"/, `class="$1 ${SIZES[index].className}"`))
    .join('\n')
}
