import type { Tensor, Tensor2D, Tensor3D } from '@tensorflow/tfjs'
import type { ActivationName } from './activation.js'

/** A weight of a layer: a TensorFlow.js variable under a name. */
interface Weight {
  read(): Tensor
}

interface NamedActivation {
  getClassName(): string
}

/** The fields of TensorFlow.js's own cells that their equations read. */
export interface CellFields {
  readonly units: number
  readonly activation: NamedActivation
  /** Recurrent activation of LSTM and GRU. */
  readonly recurrentActivation?: NamedActivation
  /** [I,G·H] */
  readonly kernel?: Weight
  /** [H,G·H] */
  readonly recurrentKernel: Weight
  /** [G·H] */
  readonly bias: Weight | null
  readonly dropout: number
  readonly recurrentDropout: number
  readonly dropoutFunc?: ((ones: Tensor, rate: number) => Tensor) | null
  /** The cells of StackedRNNCells, from the lowest up. */
  readonly cells?: readonly CellFields[]
  getClassName(): string
}

/** The fields of TensorFlow.js's recurrent layers that their `call` reads. */
export interface RecurrentLayer {
  readonly name: string
  readonly cell: CellFields
  readonly returnSequences: boolean
  readonly returnState: boolean
  readonly goBackwards: boolean
  readonly stateful: boolean
  /** States of a stateful layer, as `initialState`. */
  readonly states_: Tensor2D[] | null
  /** Keeps copies of the states for the next batch. */
  resetStates(states: Tensor2D[], training: boolean): void
  getClassName(): string
}

export interface CallArguments {
  readonly mask?: Tensor | Tensor[] | null
  readonly training?: boolean | null
  /** [B,H] each; for a stack, the top cell's first. */
  readonly initialState?: Tensor2D[] | null
}

export type RecurrentCall = (
  this: RecurrentLayer,
  inputs: Tensor | Tensor[],
  given: CallArguments | null | undefined,
) => Tensor | Tensor[]

export interface ComputableCall {
  /** [B,T,I] */
  readonly x: Tensor3D
  /** [B,T] */
  readonly mask: Tensor | null
  readonly training: boolean
  /** From the lowest up. */
  readonly cells: readonly PlannedCell[]
  /** Each cell's states, from the lowest up; null for zeros. */
  readonly states: readonly (readonly Tensor2D[] | null)[]
}

/** A cell and the names of its equation. */
export interface PlannedCell {
  readonly fields: CellFields
  readonly kind: 'lstm' | 'gru' | 'simple'
  readonly activation: ActivationName
  /** Recurrent activation of LSTM and GRU. */
  readonly recurrentActivation: ActivationName
  /** Factor of every step's input, 0 if there is none. */
  readonly dropout: number
}
