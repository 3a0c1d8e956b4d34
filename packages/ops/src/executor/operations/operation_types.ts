// Names for options and results of the contract's operations. Callers write them as literals; an executor completes them.
import type { DenseOps, LayerOps } from '@cudnn-rnn/ops'

type ResultOf<Name extends keyof DenseOps> = ReturnType<NonNullable<DenseOps[Name]>>

/** An activation of `ops.activate`: tanh, sigmoid, relu, elu, softplus or softmax. */
export type ActivationName = Parameters<LayerOps['activate']>[1]

/** Options of `ops.activate` and its gradient. */
export type ActivationOptions = NonNullable<Parameters<LayerOps['activate']>[2]>

/** Options of `ops.poolSequence` and its gradient. */
export type PoolOptions = Parameters<LayerOps['poolSequence']>[2]

/** How `ops.poolSequence` makes one step of a sequence: last, mean or max. */
export type Pooling = PoolOptions['pooling']

/** A loss of `ops.elementLoss`: squared_error, absolute_error or sigmoid_cross_entropy. */
export type ElementLoss = Parameters<LayerOps['elementLoss']>[2]

type CtcOptions = Parameters<DenseOps['ctcLoss']>[2]

/** Options of `ops.ctcLoss`. An interface, so that declarations name it: the contract does not export its own type. */
export interface CtcLossOptions extends CtcOptions {}

/** Loss and gradient of `ops.ctcLoss` for a row without a valid path: infinite, nan or zero. */
export type InfeasibleRows = NonNullable<CtcLossOptions['infeasible']>

/** Result of `ops.ctcLoss`. */
export type CtcLossResult = Awaited<ResultOf<'ctcLoss'>>

// Kernels number the names by their places here.

/** Every activation of the contract. */
export const ACTIVATIONS = namesOf<ActivationName>({
  tanh: true,
  sigmoid: true,
  relu: true,
  elu: true,
  softplus: true,
  softmax: true,
})

/** Every pooling of the contract. */
export const POOLINGS = namesOf<Pooling>({ last: true, mean: true, max: true })

/** Every loss of `ops.elementLoss`. */
export const ELEMENT_LOSSES = namesOf<ElementLoss>({
  squared_error: true,
  absolute_error: true,
  sigmoid_cross_entropy: true,
})

/** The keys of an object, as the compiler then reports a name that is missing. */
function namesOf<Name extends string>(names: Readonly<Record<Name, true>>): readonly Name[] {
  return Object.freeze(Object.keys(names) as Name[])
}
