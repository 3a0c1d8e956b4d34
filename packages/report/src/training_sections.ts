import type { GateWeights, StepReport } from '@cudnn-rnn/train'
import { gateHistograms } from './gate_histograms.js'
import type { PageSection } from './html_page.js'
import { lineChart, type Point } from './line_chart.js'

export interface TrainingCurves {
  readonly reports: readonly StepReport[]
  /** What the loss is measured in, for the axis. */
  readonly lossLabel: string
  /** Factor of the training loss for that unit; default 1. */
  readonly lossScale?: number | undefined
  /** The metric of `evaluate` to draw beside the training loss, in the same unit. */
  readonly metric?: string | undefined
  /** What the metric was measured on; default 'held out'. */
  readonly metricLabel?: string | undefined
  readonly rules?: readonly { readonly y: number; readonly text: string }[] | undefined
  /** What a step works on, for the throughput: 3,200 characters, 32 messages. */
  readonly itemsPerStep: number
  readonly itemName: string
  /** Of the trained model, gate by gate. */
  readonly gates?: readonly GateWeights[] | undefined
}

/** Steps over which curves are averaged. */
const SMOOTHING = 20

/** The sections every report page has: loss, learning rate, gradient norm, throughput, and weights by gate. */
export function trainingSections(curves: TrainingCurves): PageSection[] {
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
  } = curves
  const curve = (value: (report: StepReport) => number): Point[] =>
    reports.map((report) => ({ x: report.step, y: value(report) }))
  const single = (y: string, label: string, value: (report: StepReport) => number, options = {}) =>
    lineChart({ x: STEP, y, series: [{ label, color: 'var(--train)', points: curve(value), ...options }], height: 220 })
  const evaluated = reports.flatMap(({ step, metrics }) => {
    const value = metric === undefined ? undefined : metrics?.[metric]
    return value === undefined ? [] : [{ x: step, y: value }]
  })
  const skipped = reports.filter((report) => report.skipped).length
  const sections = [
    {
      heading: 'Loss',
      html: lineChart({
        x: STEP,
        y: lossLabel,
        rules,
        series: [
          {
            label: `training (thin: each step; thick: mean of ${SMOOTHING})`,
            color: 'var(--train)',
            points: curve(({ loss }) => loss * lossScale),
            smoothing: SMOOTHING,
          },
          { label: metricLabel, color: 'var(--held-out)', points: evaluated, dots: true },
        ],
      }),
    },
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
  if (gates.length > 0) sections.push({ heading: 'Weights by gate', html: gateHistograms(gates) })
  return sections
}

const STEP = 'training step'
