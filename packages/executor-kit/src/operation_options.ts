// Names for options of the contract's operations. Callers write them as literals; an executor checks and completes them.
import type { ActivationName, DenseOps, ElementLoss, LayerOps, Pooling } from '@cudnn-rnn/backend'

/** Options of `ops.activate` and its gradient. */
export type ActivationOptions = NonNullable<Parameters<LayerOps['activate']>[2]>

/** Options of `ops.dropout`. */
export type DropoutOptions = Parameters<LayerOps['dropout']>[1]

/** Options of `ops.layerNorm` and its gradients. */
export type LayerNormOptions = Parameters<LayerOps['layerNorm']>[3]

/** Options of `ops.poolSequence` and its gradient. */
export type PoolOptions = Parameters<LayerOps['poolSequence']>[2]

/** Options of `ops.phasedGate` and its gradients. */
export type PhasedGateOptions = Parameters<NonNullable<DenseOps['phasedGate']>>[2]

// The keys of an object, as the compiler then reports a name that is missing. Kernels number names by their places here.

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

function namesOf<Name extends string>(names: Readonly<Record<Name, true>>): readonly Name[] {
  return Object.freeze(Object.keys(names) as Name[])
}
