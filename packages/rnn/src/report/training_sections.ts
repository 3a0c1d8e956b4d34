import {
  checkArguments,
  FLAG,
  fields,
  listOf,
  NUMBER,
  NUMBERS,
  OBJECT,
  optional,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import type { GateWeights, StepReport } from '@cudnn-rnn/train'
import { gateHistograms } from './gate_histograms.js'
import type { PageSection } from './html_page.js'
import { lineChart, type Point } from './line_chart.js'

export interface TrainingCurves {
  readonly reports: readonly StepReport[]
  /** Unit of the loss, for the axis. */
  readonly lossLabel: string
  /** Factor of the training loss for that unit; default 1. */
  readonly lossScale?: number | undefined
  /** The metric of `evaluate` to draw beside the training loss, in the same unit. */
  readonly metric?: string | undefined
  /** Data of the metric; default 'held out'. */
  readonly metricLabel?: string | undefined
  readonly rules?: readonly { readonly y: number; readonly text: string }[] | undefined
  /** Items per step, for the throughput: 3,200 characters, 32 messages. */
  readonly itemsPerStep: number
  readonly itemName: string
  /** The trained model's, gate by gate. */
  readonly gates?: readonly GateWeights[] | undefined
}

const CURVES = fields({
  reports: listOf(
    fields({
      step: NUMBER,
      loss: NUMBER,
      learningRate: NUMBER,
      gradientNorm: NUMBER,
      skipped: FLAG,
      seconds: NUMBER,
      metrics: optional(OBJECT),
    }),
  ),
  lossLabel: TEXT,
  lossScale: optional(NUMBER),
  metric: optional(TEXT),
  metricLabel: optional(TEXT),
  rules: optional(listOf(fields({ y: NUMBER, text: TEXT }))),
  itemsPerStep: NUMBER,
  itemName: TEXT,
  gates: optional(listOf(fields({ name: TEXT, values: NUMBERS }))),
})

/** Steps over which curves are averaged, the one in the middle among them. */
const SMOOTHING = 21

/** Losses of the first steps are cut off if they are this many times higher than all later ones. */
const MUCH_HIGHER = 1.5
/** The share of a run whose losses may be cut off. */
const FIRST_STEPS = 0.08

/**
 * The sections every report page has: loss, and, folded, learning rate, gradient norm, throughput and weights by gate.
 *
 * @example
 * ```ts
 * import { trainingSections } from '@cudnn-rnn/rnn/report'
 *
 * const report = { learningRate: 0.001, gradientNorm: 2, skipped: false, seconds: 0.01 }
 * const reports = [3, 2, 1.5].map((loss, index) => ({ step: index + 1, loss, ...report }))
 * const sections = trainingSections({ reports, lossLabel: 'loss (nats)', itemsPerStep: 32, itemName: 'rows' })
 * console.log(sections.map(({ heading }) => heading)) // ['Loss', 'Details of the training']
 * ```
 */
export function trainingSections(curves: TrainingCurves): PageSection[] {
  const { curves: own } = checkArguments('draw curves', { curves }, { curves: CURVES })
  const {
    reports,
    lossLabel,
    lossScale = 1,
    metric,
    metricLabel = 'held out',
    rules,
    itemsPerStep,
    itemName,
    gates = [],
  } = own
  const curve = (value: (report: StepReport) => number): Point[] =>
    reports.map((report) => ({ x: report.step, y: value(report) }))
  const single = (y: string, label: string, value: (report: StepReport) => number, options = {}) =>
    lineChart({ x: STEP, y, series: [{ label, color: 'var(--train)', points: curve(value), ...options }], height: 220 })
  const evaluated = reports.flatMap(({ step, metrics }) => {
    const value = metric === undefined ? undefined : metrics?.[metric]
    return typeof value !== 'number' ? [] : [{ x: step, y: value }]
  })
  const losses = curve(({ loss }) => loss * lossScale)
  const top = zoomedTop(losses, [...evaluated.map(({ y }) => y), ...(rules ?? []).map(({ y }) => y)])
  const skipped = reports.filter((report) => report.skipped).length
  const loss = {
    heading: 'Loss',
    html:
      lineChart({
        x: STEP,
        y: lossLabel,
        rules,
        top,
        series: [
          {
            label: `training (thin: each step; thick: mean of the ${SMOOTHING} steps around it)`,
            color: 'var(--train)',
            points: losses,
            smoothing: SMOOTHING,
          },
          { label: metricLabel, color: 'var(--ours)', points: evaluated, dots: true },
        ],
      }) + (top === undefined ? '' : `\n<p class="note">${cutOff(losses, top)}</p>`),
  }
  const details = [
    { heading: 'Learning rate', html: single('learning rate', 'at each step', ({ learningRate }) => learningRate) },
    {
      heading: 'Gradient norm',
      html: `${single('norm before clipping', 'global norm', ({ gradientNorm }) => gradientNorm, { smoothing: SMOOTHING })}${
        skipped === 0 ? '' : `<p>Updates skipped as gradients were not finite: ${skipped}.</p>`
      }`,
    },
    {
      heading: 'Throughput',
      html: single(`${itemName} per second`, 'forward, backward and update', ({ seconds }) => itemsPerStep / seconds, {
        smoothing: SMOOTHING,
      }),
    },
  ]
  if (gates.length > 0) details.push({ heading: 'Weights by gate', html: gateHistograms(gates) })
  const summary = details.map(({ heading }) => heading.toLowerCase()).join(', ')
  const folded = details.map(({ heading, html }) => `<h3>${heading}</h3>\n${html}`).join('\n')
  return [
    loss,
    { heading: 'Details of the training', html: `<details>\n<summary>${summary}</summary>\n${folded}\n</details>` },
  ]
}

const STEP = 'training step'

/** The end of the vertical axis at which the later steps are seen; undefined if the first ones are not much higher. */
function zoomedTop(losses: readonly Point[], others: readonly number[]): number | undefined {
  const finite = losses.map(({ y }) => y).filter(Number.isFinite)
  const later = finite.slice(Math.ceil(finite.length * FIRST_STEPS))
  const greatest = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
  const top = greatest([...later, ...others.filter(Number.isFinite)])
  return later.length > 0 && top > 0 && greatest(finite) > MUCH_HIGHER * top ? top * 1.04 : undefined
}

function cutOff(losses: readonly Point[], top: number): string {
  const above = losses.filter(({ y }) => Number.isFinite(y) && y > top)
  const highest = above.reduce((most, { y }) => Math.max(most, y), top).toPrecision(3)
  return above.length === 1
    ? `The loss of step ${above[0].x}, ${highest}, is above the chart.`
    : `The losses of ${above.length} steps up to step ${above[above.length - 1].x} are above the chart, at most ${highest}.`
}
