import type { InfeasibleRows } from '@cudnn-rnn/ops/executor'
import type { Blank } from './blank.js'

export const REDUCTIONS = ['sum', 'mean', 'mean_per_label'] as const

/**
 * - `sum`: Σ loss_b
 * - `mean`: Σ loss_b / B, as `tf.reduce_mean(tf.nn.ctc_loss(…))`
 * - `mean_per_label`: Σ loss_b / max(1, labels of row b) / B, as PyTorch's `reduction='mean'`
 */
export type Reduction = (typeof REDUCTIONS)[number]

interface Convention {
  readonly blank: Blank
  readonly reduction: Reduction
  readonly infeasible: InfeasibleRows
  /** Whether more labels than time steps are an error before anything is computed. */
  readonly refusesLongLabels: boolean
}

/** The differences between the two libraries; every field but the last is also an option of `ctcLoss`. */
export const CONVENTIONS = Object.freeze({
  tensorflow: { blank: 'last', reduction: 'mean', infeasible: 'infinite', refusesLongLabels: true },
  pytorch: { blank: 'first', reduction: 'mean_per_label', infeasible: 'nan', refusesLongLabels: false },
} as const satisfies Record<string, Convention>)

/** Whose defaults apply. */
export type CtcConvention = keyof typeof CONVENTIONS
