import { describeValue, type Tensor } from '@cudnn-rnn/canonical'
import { checkNames } from '@cudnn-rnn/canonical/rules'
import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import { Dataset } from '@cudnn-rnn/train'
import type { ModelGraph } from '../model/model_graph.js'
import { checkNamed, isNamedModel } from '../model/model_inputs.js'
import {
  areNumbers,
  elementsOf,
  exampleError,
  joinedInputs,
  type LayerExample,
  READ_DATA,
  stepWeights,
} from './joined_rows.js'
import type { AnyBatch, LayerBatch, NamedBatch } from './layer_batch.js'
import type { OutputLoss } from './output_losses.js'

/** One row of a batch of a model of several inputs or outputs, by their names. */
interface NamedExample {
  readonly input: Readonly<Record<string, LayerExample['input']>>
  readonly label: Readonly<Record<string, LayerExample['label']>>
  readonly weight?: LayerExample['weight']
}

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

/** The inputs and outputs of a model that is trained or evaluated with `losses`. */
export interface DataShape {
  readonly dtype: FloatDType
  readonly losses: readonly OutputLoss[]
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
    throw exampleError(
      `data must be an array of examples { input, label }, or a Dataset, such as Dataset.from(generator): current value is ${describeValue(data)}`,
    )
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

function checkedBatch(batch: AnyBatch, { losses, graph }: DataShape): AnyBatch {
  if (typeof batch === 'object' && batch !== null && 'input' in batch && 'labels' in batch) {
    if (!losses.some(({ rule }) => rule.takesAnyField)) checkNames(READ_DATA, batch, BATCH_FIELDS)
    const { restarts, weights } = batch
    const isNamed = isNamedModel(graph)
    if (isNamed) {
      checkNamed(READ_DATA, 'labels of a batch', graph.outputs, batch.labels)
      if (weights !== undefined) checkNamed(READ_DATA, 'weights of a batch', graph.outputs, weights)
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
  throw exampleError(
    `each element must be an example { input, label }, or a batch { input, labels }: current value is ${describeValue(batch)}.${hint}`,
  )
}

/** Joins examples into one batch, sequences padded. Throws `ERR_EXAMPLE`, `ERR_EMPTY_BATCH`, `ERR_SHAPE`. */
function batchOf(examples: readonly LayerExample[], shape: DataShape): AnyBatch {
  for (const [row, example] of examples.entries()) {
    if (typeof example === 'object' && example !== null && 'input' in example && 'label' in example) {
      checkNames(READ_DATA, example, ['input', 'label', 'weight'])
      const { weight = 1 } = example
      if (Number.isFinite(weight) && weight >= 0) continue
      throw exampleError(
        `the weight of row ${row} must be a finite number >= 0: current value is ${describeValue(weight)}`,
        { row },
      )
    }
    throw exampleError(`example ${row} must be { input, label }: current value is ${describeValue(example)}`)
  }
  const { dtype, graph, losses } = shape
  const isNamed = isNamedModel(graph)
  const partOf = <Part>(given: Part, name: string) =>
    isNamed ? (given as Readonly<Record<string, Part>>)[name] : given
  for (const { input, label } of isNamed ? examples : []) {
    checkNamed(READ_DATA, 'the input of an example', graph.inputs, input)
    checkNamed(READ_DATA, 'the label of an example', graph.outputs, label)
  }
  const inputs = graph.inputs.map(({ name, signal: input }) => {
    const rows = examples.map((example) => partOf(example.input, name))
    return [name, joinedInputs(rows, { input, dtype })] as const
  })
  const outputLengths = graph.outputLengths(inputs.map(([, { lengths }]) => lengths))
  const labels = graph.outputs.map(({ name, signal: output }, k) => {
    const rows = examples.map(({ label }) => partOf(label, name))
    // The loss of the first output alone reads the labels of the others, too.
    const { rule } = losses[k] ?? losses[0]
    return [name, rule.joinLabels(rows, output, outputLengths[k])] as const
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

export function rowsIn({ inputs, outputs }: ModelGraph, { input }: AnyBatch): number {
  const [{ name, signal }] = inputs
  const tensor = isNamedModel({ inputs, outputs }) ? (input as NamedBatch['input'])[name] : (input as Tensor)
  return tensor.shape[Number(signal.isSequence)]
}

export function emptyData() {
  return exampleError('there must be at least one: current number is 0')
}
