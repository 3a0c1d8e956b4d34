import type { AdagradOptions, BackendTensor, MomentumOptions, RmsPropOptions } from '@cudnn-rnn/backend'
import type { AdamNumbers, Complete } from './optimizer_options.js'

/**
 * An optimizer's update of variables in place, elementwise, with its numbers: `accumulate` and every `apply…` of
 * `DenseOps` is one. `addScaled` is variable ← variable + scale·source.
 */
export type OptimizerUpdate =
  | { readonly rule: 'addScaled'; readonly scale: number }
  | ({ readonly rule: 'momentum' } & Complete<MomentumOptions>)
  | ({ readonly rule: 'adam'; readonly count?: BackendTensor | undefined } & AdamNumbers)
  | ({ readonly rule: 'rmsProp' } & Complete<RmsPropOptions>)
  | ({ readonly rule: 'adagrad' } & Complete<AdagradOptions>)
  | { readonly rule: 'weightDecay'; readonly rate: number }
