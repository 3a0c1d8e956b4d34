import { describeValue, elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { checkNames, codedRangeError, wasTransferred } from '@cudnn-rnn/canonical/rules'
import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import { Dataset, padSequences } from '@cudnn-rnn/train'
import type { ModelGraph } from '../model/model_graph.js'
import { checkNamed, isNamedModel, lengthsByInput } from '../model/model_inputs.js'
import { featuresOf, type Signal, signalText } from '../signal.js'
import type { LayerBatch, NamedBatch } from './layer_batch.js'
import { type CheckedLoss, isCtc, isNamedLosses } from './losses.js'

const ACTION = 'read the data'

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

/** One row of a batch of a model of several inputs or outputs, by their names. */
interface NamedExample {
  readonly input: Readonly<Record<string, LayerExample['input']>>
  readonly label: Readonly<Record<string, LayerExample['label']>>
  readonly weight?: LayerExample['weight']
}

export type { LayerBatch, NamedBatch }

/** A batch of any model. */
export type AnyBatch = LayerBatch | NamedBatch

export type LayerData = DataOf<LayerExample> | DataOf<LayerBatch> | DataOf<NamedExample> | DataOf<NamedBatch>

type DataOf<Item> = Dataset<Item> | readonly Item[]

export function isLayerData(data: unknown): data is LayerData {
  return Array.isArray(data) || (typeof data === 'object' && data !== null && 'iterate' in data)
}

export interface BatchOptions {
  /** Rows of a batch, if the data are examples; default as {@link rowsOfBatch}. */
  readonly batchSize?: number | undefined
  /** Shuffles arrays of examples, another way in each epoch. */
  readonly shuffleSeed?: number | undefined
}

/** The inputs and outputs of a model that is trained or evaluated with `loss`. */
export interface DataShape {
  readonly dtype: FloatDType
  readonly loss: CheckedLoss
  readonly graph: ModelGraph
}

/** Rows of a batch by default, as in Keras. */
const DEFAULT_ROWS = 32

/** `batchSize`, 32 for an array of examples without one, and undefined for batches. */
export function rowsOfBatch(data: LayerData, batchSize: number | undefined): number | undefined {
  if (batchSize !== undefined || !Array.isArray(data)) return batchSize
  return typeof data[0] === 'object' && data[0] !== null && 'label' in data[0] ? DEFAULT_ROWS : undefined
}

/** Data as batches, one epoch of it. Throws TypeError `ERR_EXAMPLE`; RangeError `ERR_INVALID_OPTION`. */
export function batchesOf(
  data: LayerData,
  { batchSize, shuffleSeed }: BatchOptions,
  shape: DataShape,
): Dataset<AnyBatch> {
  const isArray = Array.isArray(data)
  if (!isLayerData(data)) {
    throw exampleError(`data must be an array or a Dataset: current value is ${describeValue(data)}`)
  }
  const rows = rowsOfBatch(data, batchSize)
  if (rows === undefined) {
    if (isArray && data.length === 0) throw emptyData()
    const batches = isArray ? Dataset.fromArray(data as readonly AnyBatch[]) : (data as Dataset<AnyBatch>)
    return batches.map((batch) => checkedBatch(batch, shape))
  }
  if (isArray && data.length === 0) throw emptyData()
  const examples = isArray ? Dataset.fromArray(data as readonly LayerExample[]) : (data as Dataset<LayerExample>)
  const mixed =
    isArray && shuffleSeed !== undefined ? examples.shuffle({ bufferSize: data.length, seed: shuffleSeed }) : examples
  return mixed.batch(rows).map((examples) => batchOf(examples, shape))
}

const BATCH_FIELDS = ['input', 'labels', 'labelLengths', 'sequenceLengths', 'weights', 'restarts'] as const

/** A loss of the caller's may read more fields of a batch. */
function checkedBatch(batch: AnyBatch, { loss, graph }: DataShape): AnyBatch {
  if (typeof batch === 'object' && batch !== null && 'input' in batch && 'labels' in batch) {
    if (typeof loss !== 'function') checkNames(ACTION, batch, BATCH_FIELDS)
    const { restarts, weights } = batch
    const isNamed = isNamedModel(graph)
    if (isNamed) {
      checkNamed(ACTION, 'labels of a batch', graph.outputs, batch.labels)
      if (weights !== undefined) checkNamed(ACTION, 'weights of a batch', graph.outputs, weights)
    }
    for (const each of isNamed ? Object.values(weights ?? {}) : [weights]) {
      const all = areNumbers(each?.data) ? elementsOf(each.data, Float64Array) : undefined
      const wrong = all?.find((weight) => !(weight >= 0 && Number.isFinite(weight)))
      if (wrong !== undefined)
        throw exampleError(`weights of a batch must be finite numbers >= 0: current value is ${wrong}`)
    }
    if (restarts === undefined || typeof restarts === 'boolean') return batch
    throw exampleError(`restarts of a batch must be a boolean: current value is ${describeValue(restarts)}`)
  }
  const hint =
    typeof batch === 'object' && batch !== null && 'label' in batch ? ' Give batchSize to batch examples.' : ''
  throw exampleError(`a batch must be { input, labels }: current value is ${describeValue(batch)}.${hint}`)
}

/** Joins examples into one batch, sequences padded. Throws `ERR_EXAMPLE`, `ERR_EMPTY_BATCH`, `ERR_SHAPE`. */
function batchOf(examples: readonly LayerExample[], shape: DataShape): AnyBatch {
  for (const [row, example] of examples.entries()) {
    if (typeof example === 'object' && example !== null && 'input' in example && 'label' in example) {
      checkNames(ACTION, example, ['input', 'label', 'weight'])
      const { weight = 1 } = example
      if (Number.isFinite(weight) && weight >= 0) continue
      throw exampleError(
        `the weight of row ${row} must be a finite number >= 0: current value is ${describeValue(weight)}`,
        { row },
      )
    }
    throw exampleError(`example ${row} must be { input, label }: current value is ${describeValue(example)}`)
  }
  const { dtype, graph, loss } = shape
  const isNamed = isNamedModel(graph)
  const partOf = <Part>(given: Part, name: string) =>
    isNamed ? (given as Readonly<Record<string, Part>>)[name] : given
  for (const { input, label } of isNamed ? examples : []) {
    checkNamed(ACTION, 'the input of an example', graph.inputs, input)
    checkNamed(ACTION, 'the label of an example', graph.outputs, label)
  }
  const inputs = graph.inputs.map(({ name, signal: input }) => {
    const rows = examples.map((example) => partOf(example.input, name))
    return [name, joinedInputs(rows, { input, dtype })] as const
  })
  const outputLengths = graph.outputLengths(inputs.map(([, { lengths }]) => lengths))
  const labels = graph.outputs.map(({ name, signal: output }, k) => {
    const rows = examples.map(({ label }) => partOf(label, name))
    const own = isNamedLosses(loss) ? loss[name] : isNamed ? 'mean_squared_error' : loss
    return [
      name,
      isCtc(own) ? labelSequences(rows) : joinedLabels(rows, { output, dtype, loss: own }, outputLengths[k]),
    ] as const
  })
  const weights = weightsOfOutputs(examples, labels, outputLengths, shape)
  if (!isNamed) {
    const [[, { tensor, lengths }], [, own]] = [inputs[0], labels[0]]
    return { input: tensor, labels: own, sequenceLengths: lengths, ...(weights && { weights: weights[0][1] }) }
  }
  const lengths = inputs.flatMap(([name, joined]) => (joined.lengths === null ? [] : [[name, joined.lengths] as const]))
  return {
    input: Object.fromEntries(inputs.map(([name, { tensor }]) => [name, tensor])),
    labels: Object.fromEntries(labels) as NamedBatch['labels'],
    ...(weights && { weights: Object.fromEntries(weights) }),
    sequenceLengths: Object.fromEntries(lengths),
  }
}

/** The weights of every output's rows, of each step if it has a time axis; undefined if all rows weigh 1. */
function weightsOfOutputs(
  examples: readonly LayerExample[],
  labels: readonly (readonly [string, Tensor | readonly Int32Array[]])[],
  outputLengths: readonly (Int32Array | null)[],
  { dtype, graph }: DataShape,
): [string, Tensor][] | undefined {
  const weights = examples.map(({ weight = 1 }) => weight)
  if (weights.every((weight) => weight === 1)) return undefined
  return labels.map(([name, own], k) => {
    const lengths = outputLengths[k]
    const isOfSteps = graph.outputs[k].signal.isSequence && lengths !== null && 'shape' in own
    if (isOfSteps) return [name, stepWeights(own.shape[0], lengths, dtype, weights)]
    return [name, { data: DTYPES[dtype].array.from(weights), shape: [weights.length] }]
  })
}

/** The part of a batch that belongs to one output; its lengths are that output's. */
export function batchOfOutput(graph: ModelGraph, batch: AnyBatch, k: number): LayerBatch {
  if (!isNamedModel(graph)) return batch as LayerBatch
  const { input, labels, weights, sequenceLengths, restarts } = batch as NamedBatch
  const { name } = graph.outputs[k]
  const inputs = graph.inputs.map((each) => input[each.name])
  const lengths = graph.outputLengths(lengthsByInput(ACTION, graph.inputs, inputs, sequenceLengths))
  return { input: inputs[0], labels: labels[name], weights: weights?.[name], sequenceLengths: lengths[k], restarts }
}

export function rowsIn({ inputs, outputs }: ModelGraph, { input }: AnyBatch): number {
  const [{ name, signal }] = inputs
  const tensor = isNamedModel({ inputs, outputs }) ? (input as NamedBatch['input'])[name] : (input as Tensor)
  return tensor.shape[Number(signal.isSequence)]
}

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
    const actual = tensor === undefined ? describeValue(row) : `shape [${tensor.shape.join(',')}]`
    const advice = tensor && tensor.shape.length === rank - 1 ? '. A sequence is a list of steps' : ''
    throw exampleError(
      `the input of row ${index} must have shape [${expected.join(',')}] for ${signalText(input)}: current value is ${actual}${advice}`,
      { row: index },
    )
  })
  return joined(tensors, type, isSequence)
}

function joinedLabels(
  labels: readonly LayerExample['label'][],
  { output, dtype, loss }: Pick<DataShape, 'dtype' | 'loss'> & { readonly output: Signal },
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
    const actual = tensor === undefined ? describeValue(label) : `shape [${tensor.shape.join(',')}]`
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

function labelSequences(labels: readonly LayerExample['label'][]): Int32Array[] {
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

/** Steps as one tensor; undefined for other values than numbers, and for several lengths. */
function stepsAsTensor(steps: readonly unknown[], type: Elements): Tensor<FloatArray | Int32Array> | undefined {
  if (!steps.every(areNumbers)) return undefined
  const [{ length }] = steps
  if (steps.some((step) => step.length !== length)) return undefined
  const numbers = steps.flatMap((step) => Array.from(step))
  return asTensor({ data: Float64Array.from(numbers), shape: [steps.length, length] }, type)
}

/** A transferred array has no elements. */
function elementsOf<Type extends Elements>(given: ArrayLike<number>, type: Type): InstanceType<Type> {
  return (ArrayBuffer.isView(given) && wasTransferred(given) ? new type(0) : type.from(given)) as InstanceType<Type>
}

/** Elements of a BigInt64Array and of an array of other values become no floats; a DataView has no elements. */
function areNumbers(given: unknown): given is ArrayLike<number> {
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

export function emptyData() {
  return exampleError('there must be at least one: current number is 0')
}

export function exampleError(rule: string, details: Readonly<Record<string, unknown>> = {}) {
  return codedRangeError('ERR_EXAMPLE', `Cannot ${ACTION} as ${rule}`, details)
}
