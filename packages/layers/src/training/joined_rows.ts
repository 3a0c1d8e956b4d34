import { describeValue, elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError, wasTransferred } from '@cudnn-rnn/canonical/rules'
import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import { padSequences } from '@cudnn-rnn/train'
import { featuresOf, type Signal, signalText } from '../signal.js'
import type { RowLossName } from './losses.js'

export const READ_DATA = 'read the data'

/** One row of a batch. */
export interface LayerExample {
  /** Class ids (of a sequence, or one), or numbers [t,I], a tensor or one list for each step (of a model without a time axis: [I]). */
  readonly input: readonly number[] | Int32Array | Tensor | Steps
  /**
   * A class id, or one for each step; the numbers [O] (of every step: [t,O]) that the output is compared with; for `ctc` a
   * sequence of labels of any length.
   */
  readonly label: number | readonly number[] | Int32Array | FloatArray | Tensor | Steps
  /** How much the row counts in the mean of the losses and in accuracies, all of its steps alike. Default 1. Not for `ctc`. */
  readonly weight?: number | undefined
}

/** The numbers of each step, of one length. */
type Steps = readonly (readonly number[] | FloatArray)[]

type Joined = { readonly tensor: Tensor; readonly lengths: Int32Array | null }

/** Rows joined time-major; lengths are null for a model without a time axis. */
export function joinedInputs(
  rows: readonly LayerExample['input'][],
  { input, dtype }: { readonly input: Signal; readonly dtype: FloatDType },
): Joined {
  if (!Array.isArray(rows)) throw exampleError(`inputs must be an array: current value is ${describeValue(rows)}`)
  const { isSequence, features } = input
  const type = features === null ? Int32Array : DTYPES[dtype].array
  const tensors = rows.map((row, index) => {
    const tensor = asTensor(row, type)
    const ending = features === null ? [] : [features]
    const rank = ending.length + Number(isSequence)
    if (
      tensor !== undefined &&
      tensor.shape.length === rank &&
      tensor.shape.slice(rank - ending.length).join() === ending.join()
    ) {
      return tensor
    }
    const expected = [...(isSequence ? ['t'] : []), ...ending]
    const actual = tensor === undefined ? unfitNumbers(row, type) : `shape [${tensor.shape.join(',')}]`
    const isLess = typeof row === 'number' || tensor?.shape.length === rank - 1
    const advice = isLess && isSequence ? '. A sequence is a list of steps, and inputs are a list of sequences' : ''
    throw exampleError(
      `the input of row ${index} must have shape [${expected.join(',')}] for ${signalText(input)}: current value is ${actual}${advice}`,
      { row: index },
    )
  })
  return joined(tensors, type, isSequence)
}

/** Labels joined, one for every row of an output, or for every step of one with a time axis. */
export function joinedLabels(
  labels: readonly LayerExample['label'][],
  {
    output,
    dtype,
    loss,
  }: { readonly output: Signal; readonly dtype: FloatDType; readonly loss: RowLossName | 'your loss' },
  lengths: Int32Array | null,
): Tensor {
  const isIds = loss === 'softmax_cross_entropy'
  const type = isIds ? Int32Array : DTYPES[dtype].array
  const ending = isIds ? [] : [featuresOf(output)]
  // A sequence that a model makes of one row has no lengths: labels are as long as the first, and the loss compares it.
  let length: number | undefined
  const tensors = labels.map((label, row) => {
    const tensor = asTensor(typeof label === 'number' ? [label] : label, type)
    length ??= Math.floor((tensor?.data.length ?? 0) / elementCount(ending))
    const shape = [...(output.isSequence ? [lengths?.[row] ?? length] : []), ...ending]
    // A list of numbers will do for any shape, and a tensor without its dimensions of 1.
    if (tensor?.data.length === elementCount(shape) && (tensor.shape.length === 1 || areAlike(tensor.shape, shape))) {
      return { data: tensor.data, shape }
    }
    const actual = tensor === undefined ? unfitNumbers(label, type) : `shape [${tensor.shape.join(',')}]`
    throw exampleError(
      `the label of row ${row} must be ${isIds ? 'class ids' : 'numbers'} of shape [${shape.join(',')}] for ${loss} of ${signalText(output)}: current value is ${actual}${labelAdvice(tensor, output, isIds)}`,
      { row },
    )
  })
  return joined(tensors, type, output.isSequence).tensor
}

/** Advice about a label that was meant for another output. */
function labelAdvice(label: Tensor | undefined, output: Signal, isIds: boolean): string {
  const count = label?.data.length
  if (isIds && count === output.features && count !== 1) return '. Give the index of the 1 in place of a one-hot vector'
  const isOfRow = output.isSequence && count === (isIds ? 1 : output.features)
  return isOfRow ? '. For one label of a sequence put lastStep() or meanOverTime() behind the recurrent layers' : ''
}

function areAlike(a: readonly number[], b: readonly number[]): boolean {
  const [one, other] = [a, b].map((shape) => shape.filter((size) => size !== 1).join())
  return one === other
}

/** Labels for CTC. */
export function labelSequences(labels: readonly LayerExample['label'][]): Int32Array[] {
  return labels.map((label, row) => {
    const tensor = typeof label === 'number' ? undefined : asTensor(label, Int32Array)
    if (tensor?.shape.length === 1) return tensor.data as Int32Array
    throw exampleError(
      `the label of row ${row} must be a list of class ids for ctc: current value is ${describeValue(label)}`,
      { row },
    )
  })
}

type Elements = typeof Int32Array | typeof Float32Array | typeof Float64Array

/** Numbers as a tensor of `type`; undefined for other values. Integers must be integers. */
function asTensor(
  value: LayerExample['input'] | FloatArray,
  type: Elements,
): Tensor<FloatArray | Int32Array> | undefined {
  if (Array.isArray(value) && typeof value[0] === 'object') return stepsAsTensor(value, type)
  const isTensor = typeof value === 'object' && value !== null && 'data' in value && Array.isArray(value.shape)
  const given = isTensor ? value.data : (value as ArrayLike<number>)
  if (!areNumbers(given) || (isTensor && !value.shape.every(Number.isSafeInteger))) return undefined
  const data = given instanceof type ? given : elementsOf(given, type)
  if (type === Int32Array && data !== given) {
    for (const [index, id] of Array.from(given).entries()) if (data[index] !== id) return undefined
  }
  const shape = isTensor ? value.shape : [data.length]
  return data.length === elementCount(shape) ? { data, shape } : undefined
}

/** Describes a value that {@link asTensor} refuses, with the place of its fault. */
function unfitNumbers(value: unknown, type: Elements): string {
  const described = describeValue(value)
  const { data = value, shape } = (value ?? {}) as Partial<Tensor>
  const isShape = Array.isArray(shape) && shape.every(Number.isSafeInteger)
  if (isShape && areNumbers(data) && data.length !== elementCount(shape)) {
    return `${data.length} numbers for shape [${shape.join(',')}]`
  }
  if (!Array.isArray(data) || data.length === 0) return described
  const lengths = new Set(data.map((step) => (areNumbers(step) ? step.length : undefined)))
  if (!lengths.has(undefined)) return `${described} steps of ${[...lengths].join(' and ')} numbers`
  const isFit = (each: unknown) =>
    Array.isArray(data[0]) ? areNumbers(each) : typeof each === 'number' && (type !== Int32Array || (each | 0) === each)
  const place = data.findIndex((each) => !isFit(each))
  return place < 0 ? described : `${described} whose element ${place} is ${describeValue(data[place])}`
}

/** Steps as one tensor; undefined for other values than numbers, and for several lengths. */
function stepsAsTensor(steps: readonly unknown[], type: Elements): Tensor<FloatArray | Int32Array> | undefined {
  if (!steps.every(areNumbers)) return undefined
  const [{ length }] = steps
  if (steps.some((step) => step.length !== length)) return undefined
  const numbers = steps.flatMap((step) => Array.from(step))
  return asTensor({ data: Float64Array.from(numbers), shape: [steps.length, length] }, type)
}

/** A transferred array has no elements. */
export function elementsOf<Type extends Elements>(given: ArrayLike<number>, type: Type): InstanceType<Type> {
  return (ArrayBuffer.isView(given) && wasTransferred(given) ? new type(0) : type.from(given)) as InstanceType<Type>
}

/** Elements of a BigInt64Array and of an array of other values become no floats; a DataView has no elements. */
export function areNumbers(given: unknown): given is ArrayLike<number> {
  // `every` passes over holes.
  if (Array.isArray(given)) return given.findIndex((element) => typeof element !== 'number') < 0
  if (!ArrayBuffer.isView(given) || given instanceof DataView) return false
  return !(given instanceof BigInt64Array || given instanceof BigUint64Array)
}

function joined(rows: readonly Tensor[], type: Elements, isSequence: boolean): Joined {
  if (!isSequence) return { tensor: stacked(rows, type), lengths: null }
  const { tensor, lengths } = padSequences(rows)
  if (tensor.shape[0] > 0) return { tensor, lengths }
  // Rows without a single step: one step of padding.
  const shape = [1, ...tensor.shape.slice(1)]
  return { tensor: { data: new type(elementCount(shape)) as FloatArray, shape }, lengths }
}

function stacked(rows: readonly Tensor[], type: Elements): Tensor {
  if (rows.length === 0) {
    throw codedRangeError(
      'ERR_EMPTY_BATCH',
      'Cannot make a batch as there must be at least one row: current number is 0',
    )
  }
  const size = rows[0].data.length
  const data = new type(rows.length * size)
  for (const [row, tensor] of rows.entries()) data.set(tensor.data as Float32Array, row * size)
  return { data: data as FloatArray, shape: [rows.length, ...rows[0].shape] }
}

/** Weights of a sequence's steps: 1 within a row's length, 0 past it. */
export function stepWeights(
  time: number,
  lengths: ArrayLike<number>,
  dtype: FloatDType,
  rowWeights?: readonly number[],
): Tensor<FloatArray> {
  const batch = lengths.length
  const data: FloatArray = new DTYPES[dtype].array(time * batch)
  for (let b = 0; b < batch; b++) for (let t = 0; t < lengths[b]; t++) data[t * batch + b] = rowWeights?.[b] ?? 1
  return { data, shape: [time, batch] }
}

export function exampleError(rule: string, details: Readonly<Record<string, unknown>> = {}) {
  return codedRangeError('ERR_EXAMPLE', `Cannot ${READ_DATA} as ${rule}`, details)
}
