import type { HostLstm } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'
import type { CtcProblem } from '../arguments/ctc_problem.js'
import type { InfeasibleRows } from '../operations/operation_types.js'
import type { RowName } from '../operations/table.js'
import type { OptimizerUpdate } from '../arguments/optimizer_update.js'

/** The loss of rows whose labels have no alignment, in the order of `InfeasibleRows` in native/cpu/src/dense/ctc_loss.h. */
export const INFEASIBLE_ROWS: readonly InfeasibleRows[] = Object.freeze(['infinite', 'nan', 'zero'] as const)

/**
 * Rows that the kernels compute, with the order of their numbers. Their operands are the results of the row, then its operands;
 * integers are apart.
 */
export const ROW_NUMBERS = Object.freeze({
  linear: ['rows', 'inputs', 'outputs'],
  embedding: ['columns', 'classes', 'rows'],
  activate: ['activation', 'rows', 'columns', 'maximum'],
  activationGradient: ['activation', 'rows', 'columns', 'maximum'],
  dropout: ['rows', 'seedLow', 'seedHigh', 'drawLow', 'drawHigh', 'threshold', 'kept'],
  layerNorm: ['rows', 'columns', 'epsilon'],
  layerNormGradients: ['rows', 'columns', 'epsilon'],
  maskSequence: ['time', 'batch', 'columns'],
  reverseSequence: ['time', 'batch', 'columns'],
  poolSequence: ['time', 'batch', 'columns', 'pooling', 'reversedFrom'],
  poolSequenceGradient: ['time', 'batch', 'columns', 'pooling', 'reversedFrom'],
  attend: ['time', 'batch', 'columns'],
  attendGradients: ['time', 'batch', 'columns'],
  elementLoss: ['loss', 'rows', 'columns'],
  linearGradients: ['rows', 'inputs', 'outputs'],
  embeddingGradient: ['columns', 'classes', 'rows'],
  softmaxCrossEntropy: ['rows', 'classes'],
} as const satisfies Readonly<Partial<Record<RowName, readonly string[]>>>)

/**
 * Elementwise updates in place. Their operands are the variable, slots and source of the optimizer rule; their numbers are its
 * options, in the order of the table.
 */
const UPDATES = [
  /** variable, source */
  'assign',
  /** variable, source; scale */
  'addScaled',
  'momentum',
  'adam',
  'rmsProp',
  'adagrad',
  'weightDecay',
  /** variable; limit */
  'clip',
] as const satisfies readonly ('assign' | 'clip' | OptimizerUpdate['rule'])[]

export type UpdateName = (typeof UPDATES)[number]
type KernelOperationName = keyof typeof ROW_NUMBERS | UpdateName

/** The operations of `run`, in the order of `Operation` in native/cpu/src/dense/operations.h. */
export const KERNEL_OPERATIONS: readonly KernelOperationName[] = Object.freeze([
  ...(Object.keys(ROW_NUMBERS) as (keyof typeof ROW_NUMBERS)[]),
  ...UPDATES,
])

/** More numbers than any call of a kernel takes. */
const MOST_NUMBERS = 64

/**
 * The numbers of a call in an array that the next call writes again: kernels copy them before they return. A new
 * Float64Array would take as long as all else of a short call.
 */
export class CallNumbers {
  readonly #array = new Float64Array(MOST_NUMBERS)
  /** Views of its first elements, indexed by their length. */
  readonly #views: Float64Array[] = []

  /** `lists`, one after the other. */
  of(...lists: readonly (readonly number[])[]): Float64Array {
    let at = 0
    for (const list of lists) for (let k = 0; k < list.length; k++) this.#array[at++] = list[k]
    this.#views[at] ??= this.#array.subarray(0, at)
    return this.#views[at]
  }
}

/** Sizes and layout of one network. */
export interface KernelNetwork {
  paramsSize(): number
}

/** A canonical tensor, and its region of a network's parameters. */
export interface RegionMove {
  readonly canonical: FloatArray
  readonly pseudoLayer: number
  /** 0 input, 1 recurrent, 2 projection */
  readonly side: number
  readonly gate: number
  readonly isBias: boolean
}

/** A copy of a network's matrices in fewer bytes; filled by `quantize`. */
export type KernelQuantizedWeights = object

/** Intermediate values of a training forward; filled by `forward`. */
export interface KernelTapeMemory {
  readonly bytes: number
  release(): void
}

export interface KernelStepper {
  /**
   * Called before each step if kernels work in a separate memory and keep a copy of the parameters there.
   *
   * @param version changes with the contents of the parameters; undefined if they may change unnoticed.
   */
  followParams?: ((version: number | undefined) => void) | undefined
  /** @param quantized must be filled. Leaving it out is faster than null. */
  step(
    params: FloatArray,
    input: FloatArray,
    output: FloatArray,
    steps: number,
    quantized?: KernelQuantizedWeights | null,
  ): void
  /**
   * One step of the first `count` of `rows`, which are distinct rows of the batch: input [count,I], output [count,P or H].
   *
   * @param quantized must be filled. Leaving it out is faster than null.
   */
  stepRows(
    params: FloatArray,
    rows: Int32Array,
    count: number,
    input: FloatArray,
    output: FloatArray,
    quantized?: KernelQuantizedWeights | null,
  ): void
  /**
   * A function that computes one step from `input` [B,I] to `output` [B,P or H], whose addresses are taken once; left out
   * if that saves nothing. None of the arrays may be transferred or resized before a call of the function.
   */
  bind?: ((params: FloatArray, input: FloatArray, output: FloatArray) => () => void) | undefined
  resetRow(row: number): void
  /** @param rows whose states are moved, the first `count` of them; null for all of the batch. */
  moveState(h: FloatArray, c: FloatArray | null, into: boolean, rows: Int32Array | null, count: number): void
}

/**
 * The operations of the kernels. They may be queued; each returns its number, or 0 if it is done when the call returns.
 * Their arguments are kept alive until they are done.
 */
export interface KernelOperations {
  /**
   * Without an object of the arguments, whose properties take a fifth of a short call to read.
   *
   * @param quantized holds the matrices that are read instead; float32 inference only.
   * @param rounds whether training rounds the factors of products to bfloat16.
   * @param paramsVersion like the version of {@link KernelStepper.followParams}.
   */
  forward(
    network: KernelNetwork,
    time: number,
    batch: number,
    input: FloatArray,
    h: FloatArray | null,
    c: FloatArray | null,
    params: FloatArray,
    quantized: KernelQuantizedWeights | null,
    lengths: Int32Array | null,
    dropoutPosition: number,
    output: FloatArray,
    hFinal: FloatArray,
    cFinal: FloatArray | null,
    tape: KernelTapeMemory | null,
    rounds: boolean,
    paramsVersion?: number,
  ): number
  backward(job: {
    readonly network: KernelNetwork
    readonly input: FloatArray
    readonly params: FloatArray
    /** Like the version of {@link KernelStepper.followParams}. */
    readonly paramsVersion?: number | undefined
    readonly tape: KernelTapeMemory
    readonly dOutput: FloatArray | null
    readonly dhFinal: FloatArray | null
    readonly dcFinal: FloatArray | null
    readonly dInput: FloatArray
    readonly dh: FloatArray
    readonly dc: FloatArray | null
    readonly dParams: FloatArray
    /** Whether the forward rounded the factors of its products; the backward rounds them likewise. */
    readonly rounds: boolean
  }): number
  quantize(job: {
    readonly network: KernelNetwork
    readonly params: FloatArray
    readonly quantized: KernelQuantizedWeights
    /** Its number in MATRIX_FORMATS. */
    readonly format: number
  }): number
  /**
   * c [m,n] += a [m,k] · b [k,n], done when the call returns; throws the error of the operation.
   *
   * @param job.layout offset, row stride and column stride of c (whose columns are adjacent), a and b; then m, n, k.
   */
  addProduct(job: {
    readonly c: FloatArray
    readonly a: FloatArray
    readonly b: FloatArray
    readonly layout: Float64Array
  }): void
  /** Done when the call returns, as {@link addProduct}. Shapes: native/cpu/src/passes/lstm_sequence.h. */
  lstmForward(job: LstmJob): void
  /** Likewise, once after `lstmForward` with the same arrays. */
  lstmBackward(
    job: LstmJob & {
      readonly dOutputs: FloatArray
      readonly dh: FloatArray
      readonly dc: FloatArray
      readonly dGamma: FloatArray | null
      readonly dBeta: FloatArray | null
    },
  ): void
  ctcLoss(
    job: Omit<CtcProblem, 'infeasible'> & {
      readonly logits: FloatArray
      /** Index in {@link INFEASIBLE_ROWS}. */
      readonly infeasible: number
      readonly loss: FloatArray
      readonly rowLosses: FloatArray
      readonly gradient: FloatArray
    },
  ): number
  /** Writes the global norm and, if it is above `maxNorm`, scales the tensors down to that. */
  norm(job: { readonly tensors: readonly FloatArray[]; readonly maxNorm: number; readonly norm: FloatArray }): number
  run(job: KernelJob): number
  /** Blocks until operation `job` is done. */
  wait(job: number): void
}

/** One of {@link KERNEL_OPERATIONS}. */
export interface KernelJob {
  readonly op: number
  /** Results, then the arrays that are read. */
  readonly operands: readonly (FloatArray | null)[]
  /** How many are written. */
  readonly results: number
  /** Elements of each operand, as they were checked, then of the integers. */
  readonly counts: Float64Array
  /** Class ids or lengths. */
  readonly integers: Int32Array | null
  readonly numbers: Float64Array
}

/** The arrays that both passes of an LSTM's recurrence use. */
export interface LstmJob extends Omit<Parameters<HostLstm['forward']>[0], 'gateActivation' | 'norms'> {
  /** The gates' activation is the hard sigmoid, otherwise the sigmoid. */
  readonly hardSigmoid: boolean
  readonly gamma: FloatArray | null
  readonly beta: FloatArray | null
  readonly epsilon: number
  readonly normalizedCells: FloatArray | null
  readonly inverses: FloatArray | null
}
