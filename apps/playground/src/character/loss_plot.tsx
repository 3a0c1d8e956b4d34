import { useEffect, useRef } from 'preact/hooks'
import Plot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { useDarkMode } from '../drawing/dark_mode.js'
import type { LossPoint } from './character_messages.js'

const HEIGHT = 240

/** Bits per character by step, of the trained text and of the held-out one. */
export function LossPlot({ points }: { readonly points: readonly LossPoint[] }) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<Plot | undefined>(undefined)
  const isDark = useDarkMode()
  const latest = useRef(points)
  latest.current = points

  useEffect(() => {
    const element = box.current
    if (element === null) return
    const color = (name: string) => getComputedStyle(element).getPropertyValue(name)
    const axis = { stroke: color('--muted'), grid: { stroke: color('--rule'), width: 1 }, ticks: { show: false } }
    const made = new Plot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        scales: { x: { time: false } },
        axes: [
          { ...axis, size: 32, label: 'step', labelSize: 20, labelGap: 0 },
          { ...axis, size: 44 },
        ],
        series: [
          { label: 'step' },
          { label: 'training, bits per character', stroke: color('--other'), width: 1, value: digits },
          {
            label: 'held out',
            stroke: color('--accent'),
            width: 2,
            spanGaps: true,
            points: { show: true, size: 6, fill: color('--accent') },
            value: digits,
          },
        ],
        cursor: { drag: { x: false, y: false } },
        // Filled, as in reports.
        legend: { markers: { fill: (_, index) => color(index === 1 ? '--other' : '--accent') } },
      },
      aligned(latest.current),
      element,
    )
    plot.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }))
    resized.observe(element)
    return () => {
      resized.disconnect()
      made.destroy()
    }
  }, [isDark])
  useEffect(() => plot.current?.setData(aligned(points)), [points])
  return <div ref={box} class="plot" role="img" aria-label="Loss in bits per character by training step" />
}

function digits(_: Plot, value: number | null): string {
  return value === null ? '–' : value.toFixed(2)
}

function aligned(points: readonly LossPoint[]): Plot.AlignedData {
  return [
    points.map(({ step }) => step),
    points.map(({ bits }) => bits),
    points.map(({ heldOutBits }) => heldOutBits ?? null),
  ]
}
