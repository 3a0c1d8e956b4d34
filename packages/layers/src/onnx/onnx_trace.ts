import { elementCount, type Tensor } from '@cudnn-rnn/canonical'
import { type Backend, type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import {
  CHECKED_ROWS,
  handleOf,
  isValue,
  isVariable,
  ofDtype,
  Philox,
  Recording,
  type Value,
} from '@cudnn-rnn/ops/executor'
import { forwardedOf, type LayerInput } from '../forwarded.js'
import type { Layer, Pass } from '../layer.js'
import type { OnnxGraph } from './onnx_graph.js'
import type { Signal } from '../signal.js'
import { ONNX_OPERATIONS, type TracedSize } from './onnx_operations.js'

/** Sizes of two batches: numbers that differ between their passes depend on the batch. */
const BATCHES = [
  { time: 5, batch: 3 },
  { time: 7, batch: 4 },
] as const

const PASS: Pass = { lengths: null, states: null, keepsStates: false, isStream: false }

interface Call {
  readonly name: string
  readonly given: readonly unknown[]
  readonly result: unknown
}

/** The calls of a layer's forward on a tape. */
interface Trace {
  /** The input, and values beside it. */
  readonly inputs: readonly LayerInput[]
  readonly calls: readonly Call[]
  readonly output: BackendTensor
  /** Values that the forward made of arrays. */
  readonly constants: ReadonlySet<BackendTensor>
}

type Method = (...given: readonly unknown[]) => unknown

/**
 * The nodes of a layer, from the operations that its forward calls: the forward of two batches is recorded, and numbers that both
 * have belong to the layer.
 *
 * @param operands the values that it takes
 * @returns the value of its output; undefined if the forward depends on a batch in another way than ONNX can state
 */
export async function tracedNodes(
  graph: OnnxGraph,
  backend: Backend,
  layer: Layer,
  operands: readonly string[],
): Promise<string | undefined> {
  const recordings = BATCHES.map(() => new Recording(backend, [], false))
  try {
    const traces = await bothTraces(layer, recordings)
    return traces && (await nodesOf(graph, layer, operands, traces))
  } finally {
    for (const recording of recordings) await recording.end()
  }
}

async function bothTraces(layer: Layer, recordings: readonly Recording[]): Promise<readonly Trace[] | undefined> {
  const tracedAll = async (steps?: number) => {
    const traces: Trace[] = []
    for (const [k, { time, batch }] of BATCHES.entries()) {
      traces.push(await traceOf(layer, recordings[k], steps === undefined ? [time, time + 4] : [steps, steps], batch))
    }
    return traces
  }
  try {
    return await tracedAll()
  } catch (error) {
    // The error of a layer of a fixed number of steps states it.
    const { code, expected } = error as { readonly code?: unknown; readonly expected?: number }
    if (code === 'ERR_SEQUENCE_LENGTHS' && expected !== undefined) return tracedAll(expected)
    return undefined
  }
}

async function traceOf(
  layer: Layer,
  recording: Recording,
  times: readonly [number, number],
  batch: number,
): Promise<Trace> {
  const calls: Call[] = []
  const constants = new Set<BackendTensor>()
  const t = handleOf(recording)
  const traced = (name: string, method: Method) => Object.defineProperty(t, name, { value: method })
  for (const { name } of CHECKED_ROWS) {
    const call = t[name as 'add'] as unknown as Method | undefined
    if (call === undefined) continue
    traced(name, (...given) => {
      const result = call.apply(t, [...given])
      calls.push({ name, given, result })
      return result
    })
  }
  const { value } = t
  traced('value', (given) => {
    const made = value.call(t, given as LayerInput)
    if (!isValue(given)) constants.add(made.tensor)
    return made
  })
  traced('scope', (body) => (body as Method)(t))
  traced('unstack', (given) => {
    const [count = 0, ...shape] = t.value(given as LayerInput).shape
    const begins = shape.map(() => 0)
    const parts = Array.from({ length: count }, (_, k) => t.slice(given as Value, [k, ...begins], [1, ...shape]))
    return parts.map((part) => t.reshape(part, shape))
  })
  traced('split', (given, parts) => {
    const columns = (t.value(given as LayerInput).shape.at(-1) ?? 0) / (parts as number)
    return Array.from({ length: parts as number }, (_, k) => t.columns(given as Value, k * columns, columns))
  })
  // Sequences beside the input have other numbers of steps.
  const inputs = [layer.input, ...layer.others].map((signal, k): LayerInput => {
    const input = inputOf(signal, recording, times[Math.min(k, 1)], batch)
    return isBackendTensor(input) ? recording.newValue(input, false, t.made) : input
  })
  const [x, ...others] = inputs as [LayerInput, ...LayerInput[]]
  const pass = { ...PASS, others: others.map((each) => ({ x: each, lengths: null })) }
  const { output } = forwardedOf(t, await layer.forward(t, x, pass))
  return { inputs, calls, output: output.tensor, constants }
}

/** Numbers of another batch are others, so that a forward that reads them is noticed. */
function inputOf({ isSequence, features }: Signal, { backend }: Recording, time: number, batch: number) {
  const shape = [...(isSequence ? [time] : []), batch, ...(features === null ? [] : [features])]
  if (features === null) return { data: new Int32Array(elementCount(shape)), shape }
  const data = new Float64Array(elementCount(shape))
  new Philox(batch).fillUniform(data, 1)
  return backend.tensor(ofDtype(backend.dtype, { data, shape }))
}

async function nodesOf(
  graph: OnnxGraph,
  layer: Layer,
  operands: readonly string[],
  [first, second]: readonly Trace[],
): Promise<string | undefined> {
  if (first.calls.length !== second.calls.length) return undefined
  const names = new Map<unknown, string>(first.inputs.map((input, k) => [keyOf(input), operands[k]]))
  const variables = new Set<unknown>(layer.variables.map(({ value }) => value))
  /** The value of an operand; undefined if it depends on the batch. */
  const nameOf = async (a: unknown, b: unknown): Promise<string | undefined> => {
    if (typeof a === 'number') return a === b ? graph.scalar(a) : undefined
    const [key, other] = [keyOf(a), keyOf(b)]
    const known = names.get(key)
    if (known !== undefined) return known
    const isConstant = !isBackendTensor(key) || variables.has(key) || first.constants.has(key as BackendTensor)
    const tensors = isConstant && (await Promise.all([key, other].map(hostOf)))
    if (!tensors) return undefined
    const [own, same] = tensors as [Tensor, Tensor]
    const isSame = String(own.shape) === String(same.shape) && isEqual(own, same)
    const name = isSame ? constantOf(graph, own) : hiddenLater(graph, operands[0], own)
    if (name !== undefined && isSame) names.set(key, name)
    return name
  }
  for (const [at, { name, given, result }] of first.calls.entries()) {
    const other = second.calls[at]
    const emit = ONNX_OPERATIONS.get(name)
    const row = CHECKED_ROWS.find((each) => each.name === name)
    if (other.name !== name || emit === undefined || row === undefined) return undefined
    const places = row.operands.map(({ index }) => index)
    const pairs = places.flatMap((place) => {
      const [own, same] = [[given[place]].flat(), [other.given[place]].flat()]
      return own.map((operand, k) => [operand, same[k]] as const)
    })
    const present = pairs.filter(([operand]) => operand !== null && operand !== undefined)
    const inputs: string[] = []
    for (const [a, b] of present) {
      const input = await nameOf(a, b)
      if (input === undefined) return undefined
      inputs.push(input)
    }
    const shapes = present.map(([a, b]) => together(shapeOf(a), shapeOf(b)) as TracedSize[])
    const isOperand = (k: number) => places.includes(k) && given[k] !== null && given[k] !== undefined
    const rest = given.flatMap((argument, k) => (isOperand(k) ? [] : [together(argument, other.given[k])]))
    const output = emit(graph, { inputs, shapes, rest })
    if (output === undefined) return undefined
    names.set(keyOf(result), output)
  }
  return names.get(first.output)
}

/** The identity of an operand: values of one tensor are one. */
function keyOf(operand: unknown): unknown {
  if (isValue(operand)) return operand.tensor
  return isVariable(operand) ? operand.value : operand
}

function shapeOf(operand: unknown): readonly number[] {
  return typeof operand === 'number' ? [] : (keyOf(operand) as TensorLike).shape
}

async function hostOf(operand: unknown): Promise<Tensor> {
  return isBackendTensor(operand) ? operand.read() : (operand as Tensor)
}

function isEqual({ data }: Tensor, other: Tensor): boolean {
  return Array.from(data).every((value, k) => value === other.data[k])
}

function constantOf(graph: OnnxGraph, { data, shape }: Tensor): string | undefined {
  if (!(data instanceof Int32Array)) return graph.floats({ data: data.slice(), shape })
  return shape.length === 1 ? graph.integers(...data) : undefined
}

/** Arguments of both passes as one: sizes that differ are pairs. */
function together(a: unknown, b: unknown): unknown {
  if (typeof a === 'number' && typeof b === 'number') return a === b ? a : [a, b]
  return Array.isArray(a) && Array.isArray(b) ? a.map((each, k) => together(each, b[k])) : a
}

/** A matrix [T,T] that hides later steps: zeros up to the diagonal, one number behind it. */
function hiddenLater(graph: OnnxGraph, x: string, { data, shape }: Tensor): string | undefined {
  const [time] = shape as readonly [number]
  const value = data[1]
  const isCausal =
    shape.length === 2 &&
    shape[1] === time &&
    Array.from(data).every((each, k) => each === (k % time > Math.floor(k / time) ? value : 0))
  if (!isCausal) return undefined
  const steps = graph.node('Gather', [graph.node('Shape', [x]), graph.integers(0)])
  const all = graph.node('Expand', [graph.scalar(value), graph.node('Concat', [steps, steps], { axis: 0 })])
  return graph.node('Trilu', [all, graph.integers(1)], { upper: 1 })
}
