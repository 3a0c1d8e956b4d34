// Names for results of the contract's operations. Callers read their members; an executor writes them.
import type { DenseOps } from '@cudnn-rnn/backend'

type ResultOf<Name extends keyof DenseOps> = ReturnType<NonNullable<DenseOps[Name]>>

/** Result of `ops.linearGradients`. */
export type LinearGradients = ResultOf<'linearGradients'>

/** Result of `ops.softmaxCrossEntropy`. */
export type SoftmaxCrossEntropyResult = ResultOf<'softmaxCrossEntropy'>

/** Result of `ops.ctcLoss`. */
export type CtcLossResult = Awaited<ResultOf<'ctcLoss'>>

/** Result of `ops.elementLoss`. */
export type ElementLossResult = ResultOf<'elementLoss'>

/** Result of `ops.layerNormGradients`. */
export type LayerNormGradients = ResultOf<'layerNormGradients'>

/** Result of `ops.attend`. */
export type Attention = ResultOf<'attend'>

/** Result of `ops.attendGradients`. */
export type AttentionGradients = ResultOf<'attendGradients'>

/** Result of `ops.phasedGateGradients`. */
export type PhasedGateGradients = ResultOf<'phasedGateGradients'>
