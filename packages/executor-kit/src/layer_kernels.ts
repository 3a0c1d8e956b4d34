import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import type { ActivationName, ElementLoss, Pooling } from './operation_options.js'
import type { Attention, AttentionGradients, ElementLossResult, LayerNormGradients } from './operation_results.js'

/** Sizes of a sequence [T,B,E]. */
export interface SequenceSizes {
  readonly time: number
  readonly batch: number
  readonly columns: number
}

/** Sizes of a matrix, leading dimensions taken together. */
export interface RowSizes {
  readonly rows: number
  readonly columns: number
}

/** A block of columns that is copied from one matrix to another. */
export interface ColumnBlock {
  /** Where it begins in the wider matrix. */
  readonly begin: number
  /** Of the wider matrix. */
  readonly columns: number
  readonly rows: number
}

/**
 * The computations of `LayerOps`. Operands were checked: they fit each other, lengths are in 0..T where they can be
 * read, and backend tensors are `Own`. A kernel that throws has changed nothing.
 */
export interface LayerKernels<Own extends BackendTensor> {
  activate(operands: { readonly input: TensorLike }, activation: CompleteActivation, sizes: RowSizes): Own
  activationGradient(
    operands: { readonly output: TensorLike; readonly outputGradient: TensorLike },
    activation: CompleteActivation,
    sizes: RowSizes,
  ): Own
  multiply(operands: { readonly a: TensorLike; readonly b: TensorLike }): Own
  dropout(operands: { readonly input: TensorLike }, mask: DropoutMask): Own
  layerNorm(
    operands: { readonly input: TensorLike; readonly gamma: TensorLike; readonly beta: TensorLike },
    sizes: RowSizes,
    epsilon: number,
  ): Own
  layerNormGradients(
    operands: { readonly input: TensorLike; readonly gamma: TensorLike; readonly outputGradient: TensorLike },
    sizes: RowSizes,
    epsilon: number,
  ): LayerNormGradients
  /** Each input of [rows, its columns], into a tensor of `shape`, which has rows·columns elements. */
  concat(inputs: readonly TensorLike[], shape: readonly number[], sizes: RowSizes): Own
  columns(operands: { readonly input: TensorLike }, block: ColumnBlock, count: number): Own
  reverseSequence(
    operands: { readonly input: TensorLike; readonly lengths: TensorLike | undefined },
    sizes: SequenceSizes,
  ): Own
  poolSequence(
    operands: { readonly input: TensorLike; readonly lengths: TensorLike | undefined },
    sizes: SequenceSizes,
    pool: CompletePool,
  ): Own
  poolSequenceGradient(
    operands: {
      readonly input: TensorLike
      readonly lengths: TensorLike | undefined
      readonly outputGradient: TensorLike
    },
    sizes: SequenceSizes,
    pool: CompletePool,
  ): Own
  attend(
    operands: {
      readonly input: TensorLike
      readonly scores: TensorLike
      readonly lengths: TensorLike | undefined
    },
    sizes: SequenceSizes,
  ): Attention
  attendGradients(
    operands: { readonly input: TensorLike; readonly weights: TensorLike; readonly outputGradient: TensorLike },
    sizes: SequenceSizes,
  ): AttentionGradients
  elementLoss(
    operands: {
      readonly predictions: TensorLike
      readonly targets: TensorLike
      readonly weights: TensorLike | undefined
    },
    loss: ElementLoss,
    sizes: RowSizes,
  ): ElementLossResult
}

/** An activation, completed. */
export interface CompleteActivation {
  readonly activation: ActivationName
  /** Of relu; infinite for none, and for other activations. */
  readonly maximum: number
}

/** Options of a pooling, completed. */
export interface CompletePool {
  readonly pooling: Pooling
  /** The number of columns where none are reversed. */
  readonly reversedFrom: number
}

/**
 * One mask of dropout. Element i draws word i mod 4 of the block of Philox4x32-10 with the key (seedLow, seedHigh) and the
 * counter (low and high word of ⌊i/4⌋, drawLow, 2^24·2 + drawHigh): the last word keeps it apart from initial weights and from the
 * masks inside recurrent networks, which have 0 there. It is dropped where the word's upper 24 bits are below `threshold`.
 */
export interface DropoutMask {
  readonly seedLow: number
  readonly seedHigh: number
  /** Lower 24 bits of the number of the mask, exact in float32. */
  readonly drawLow: number
  /** Upper 24 bits. */
  readonly drawHigh: number
  /** 0..2^24 */
  readonly threshold: number
  /** The factor of kept elements: 1/(1 - rate), 0 where all are dropped. */
  readonly kept: number
}

/** Added to the fourth word of the counter. */
export const DROPOUT_COUNTER = 2 ** 25
