import * as Plot from '@observablehq/plot'
import { parseHTML } from 'linkedom'
import type { StepRecord } from './trainer.js'

/** Steps over which the training curve is averaged. */
const SMOOTHING = 20

/** Half a line of text in pixels. */
const LABEL_LIFT = 7

/** The loss curve as an SVG element in text form: training (raw and smoothed), held-out, and the bigram line. */
export function lossChart(history: readonly StepRecord[], bigramBits: number): string {
  const { document } = parseHTML('<!doctype html><html><body></body></html>')
  const heldOut = history.filter((record) => record.heldOutBits !== undefined)
  // The labels at the right end give way to each other, so that they can be read where the two values meet.
  const lift = (heldOut.at(-1)?.heldOutBits ?? 0) < bigramBits ? LABEL_LIFT : -LABEL_LIFT
  const chart = Plot.plot({
    document: document as unknown as Document,
    width: 860,
    height: 420,
    marginLeft: 56,
    marginBottom: 52,
    marginRight: 116,
    style: { fontSize: '13px', background: 'transparent' },
    x: { label: 'training step', labelAnchor: 'center', labelOffset: 44, nice: true },
    y: { label: 'bits per character', grid: true, zero: false },
    marks: [
      Plot.line(history, { x: 'step', y: 'bits', stroke: 'var(--train)', strokeOpacity: 0.25, strokeWidth: 1 }),
      Plot.line(
        history,
        Plot.windowY({ k: SMOOTHING, anchor: 'end' }, { x: 'step', y: 'bits', stroke: 'var(--train)', strokeWidth: 2 }),
      ),
      Plot.ruleY([bigramBits], { stroke: 'var(--baseline)', strokeWidth: 1.5, strokeDasharray: '5 4' }),
      Plot.text([history.at(-1)?.step ?? 0], {
        x: (step: number) => step,
        y: () => bigramBits,
        text: () => `bigram ${bigramBits.toFixed(2)}`,
        textAnchor: 'start',
        dx: 8,
        dy: -lift,
        fill: 'var(--baseline)',
      }),
      Plot.line(heldOut, { x: 'step', y: 'heldOutBits', stroke: 'var(--held-out)', strokeWidth: 2 }),
      Plot.dot(heldOut, { x: 'step', y: 'heldOutBits', fill: 'var(--held-out)', r: 4 }),
      Plot.text(heldOut.slice(-1), {
        x: 'step',
        y: 'heldOutBits',
        text: ({ heldOutBits }: StepRecord) => `held-out ${heldOutBits?.toFixed(2)}`,
        textAnchor: 'start',
        dx: 8,
        dy: lift,
        fill: 'var(--held-out)',
      }),
    ],
  })
  return chart.outerHTML
}
