import { describeValue } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkOptions,
  codedRangeError,
  FLAG,
  keyOf,
  kind,
  listOf,
  type OptionsOf,
  optional,
  recordOf,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import { MERGES, type MergeName } from '../kinds/merges.js'
import type { LayerDefinition } from '../layer.js'
import { NAME } from '../layer_build.js'
import { checkIsLayer, LAYER_OPTIONS } from '../layer_options.js'
import type { Signal } from '../signal.js'
import type { GraphPlan, PlanNode, Ref } from './model_graph.js'

/** The order in which sources were made: each reads earlier ones. */
const ORDER = new WeakMap<Source, number>()
let count = 0

/** An input, a layer or a merge. */
type Source =
  | { readonly name: string; readonly signal: Signal }
  | {
      readonly definition: LayerDefinition
      readonly from: ModelValue
      readonly states: readonly ModelValue[]
      readonly others: readonly ModelValue[]
    }
  | { readonly merge: MergeName; readonly name: string | undefined; readonly from: readonly ModelValue[] }

/**
 * A value of a model that is being described: an input, the output of a layer or one of its final states. It has no numbers.
 *
 * @example
 * ```ts
 * import { cudnnLSTM } from '@cudnn-rnn/rnn'
 * import { apply, input, type ModelValue } from '@cudnn-rnn/rnn/layers'
 *
 * const encoded: ModelValue = apply(cudnnLSTM({ numUnits: 8 }), input('words', { features: 3 }))
 * console.log(encoded.states.length) // 2: h and c
 * ```
 */
export class ModelValue {
  readonly #source: Source
  readonly #part: number

  /** @param part the output (0) or a final state (from 1) */
  constructor(source: Source, part = 0) {
    if (!ORDER.has(source)) ORDER.set(source, count++)
    this.#source = source
    this.#part = part
  }

  /**
   * The final states of the recurrent layer whose output it is, each [B,H]: of each layer and direction of a network in turn h, and
   * of an LSTM c. Empty for another layer.
   */
  get states(): readonly ModelValue[] {
    const source = this.#source
    const length = 'definition' in source && this.#part === 0 ? (source.definition.states ?? 0) : 0
    return Array.from({ length }, (_, k) => new ModelValue(source, k + 1))
  }

  static isValue(value: unknown): value is ModelValue {
    return typeof value === 'object' && value !== null && #source in value
  }

  /** The source of a value, with its part. */
  static sourceOf(value: ModelValue): readonly [Source, number] {
    return [value.#source, value.#part]
  }
}

function isFeatures(value: unknown): value is number | null {
  return value === null || (Number.isSafeInteger(value) && (value as number) >= 1)
}

const INPUT_OPTIONS = {
  /** Size of the last dimension; null for class ids. */
  features: kind('an integer >= 1, or null for class ids', isFeatures),
  /** Whether it has a time axis. Default true. */
  isSequence: optional(FLAG),
}

interface InputOptions extends OptionsOf<typeof INPUT_OPTIONS> {}

/**
 * An input of a model: [T,B,I] or [B,I] numbers, or [T,B] or [B] class ids.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { dense, openBackend } from '@cudnn-rnn/rnn'
 * import { apply, functional, input } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const size = input('size', { features: 2, isSequence: false })
 * const model = functional(backend, [size], { price: apply(dense({ units: 1, kernelInitializer: 1 }), size) })
 * const { price } = await model.predict({ size: { data: Float32Array.of(3, 4), shape: [1, 2] } })
 * console.log(price.data) // [7]
 * ```
 */
export function input(name: string, options: InputOptions): ModelValue {
  const action = 'make an input'
  checkArguments(action, { name }, { name: TEXT })
  const { features, isSequence = true } = checkOptions(action, options, INPUT_OPTIONS)
  checkName(action, name)
  return new ModelValue({ name, signal: { isSequence, features } })
}

/** Names of inputs and outputs are names of Keras and ONNX. */
function checkName(action: string, name: string): void {
  if (NAME.test(name)) return
  const rule = 'names of inputs and outputs must be of letters, digits, ".", "_" and "-"'
  throw wrongGraph(action, `${rule}: current value is ${describeValue(name)}`, { name })
}

const VALUE = kind(
  'a value of a model, by input(), apply() or merge() of this copy of @cudnn-rnn/layers',
  ModelValue.isValue,
)

const APPLY_OPTIONS = {
  /** First states of a recurrent layer, such as {@link ModelValue.states} of another one. Default: zeros. */
  states: optional(listOf(VALUE)),
  /** Values that the layer takes beside its input: of attention the sequence that it reads, and the keys by which it does. Default: none. */
  others: optional(listOf(VALUE)),
}

interface ApplyOptions extends OptionsOf<typeof APPLY_OPTIONS> {}

/**
 * The output of a layer for a value. A layer that is applied twice has its variables once.
 *
 * @throws TypeError `ERR_NOT_A_LAYER`, `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; when the model is
 *   built RangeError `ERR_LAYERS_DO_NOT_FIT`
 * @example
 * ```ts
 * import { cudnnLSTM, dense, openBackend } from '@cudnn-rnn/rnn'
 * import { apply, functional, input } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const [past, future] = [input('past', { features: 3 }), input('future', { features: 2 })]
 * const encoded = apply(cudnnLSTM({ numUnits: 8 }), past)
 * const decoded = apply(cudnnLSTM({ numUnits: 8 }), future, { states: encoded.states })
 * const model = functional(backend, [past, future], { load: apply(dense({ units: 1 }), decoded) })
 * const zeros = (...shape: [number, number, number]) => ({ data: new Float32Array(shape[0] * shape[1] * shape[2]), shape })
 * const { load } = await model.predict({ past: zeros(7, 1, 3), future: zeros(4, 1, 2) })
 * console.log(load.shape) // [4, 1, 1]
 * ```
 */
export function apply(layer: LayerDefinition, value: ModelValue, options: ApplyOptions = {}): ModelValue {
  const action = 'apply a layer'
  checkIsLayer(action, layer)
  checkArguments(action, { value }, { value: VALUE })
  const { states = [], others = [] } = checkOptions(action, options, APPLY_OPTIONS)
  return new ModelValue({ definition: layer, from: value, states, others })
}

const MERGE_OPTIONS = {
  /** Its name in summaries and files. Default: that of Keras' class, numbered. */
  name: LAYER_OPTIONS.name,
}

interface MergeOptions extends OptionsOf<typeof MERGE_OPTIONS> {}

/**
 * Values of one form as one: beside each other (`concat`), by an operation of their elements, or the products of their rows (`dot`).
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_ARGUMENT`; when the model is built RangeError
 *   `ERR_LAYERS_DO_NOT_FIT`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { functional, input, merge } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const [a, b] = [input('a', { features: 2 }), input('b', { features: 2 })]
 * const model = functional(backend, [a, b], { larger: merge('maximum', [a, b]) })
 * const of = (...data: number[]) => ({ data: Float32Array.from(data), shape: [1, 1, 2] }) // [T,B,E]
 * const { larger } = await model.predict({ a: of(1, 4), b: of(2, 3) })
 * console.log(larger.data) // [2, 4]
 * ```
 */
export function merge(by: MergeName, values: readonly ModelValue[], options: MergeOptions = {}): ModelValue {
  const action = 'merge values'
  const { values: from } = checkArguments(action, { by, values }, { by: keyOf(MERGES), values: listOf(VALUE, 2) })
  const { name } = checkOptions(action, options, MERGE_OPTIONS)
  const { count = from.length } = MERGES[by]
  if (count !== from.length)
    throw wrongGraph(`${action} by ${by}`, `there must be ${count}: current number is ${from.length}`)
  return new ModelValue({ merge: by, name, from: [...values] })
}

/**
 * The plan of a model between values.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT`; RangeError `ERR_MODEL_GRAPH` for names that are not different, an input that is none or is
 *   missing, and one that no output reads
 */
export function planOfValues(
  action: string,
  inputs: readonly ModelValue[],
  outputs: Readonly<Record<string, ModelValue>>,
): GraphPlan {
  const { inputs: starts, outputs: results } = checkArguments(
    action,
    { inputs, outputs },
    { inputs: listOf(VALUE, 1), outputs: recordOf(VALUE) },
  )
  const named = Object.entries(results)
  if (named.length === 0) throw wrongGraph(action, 'it must have an output: { name: value }')
  const sources = starts.map((value, k) => {
    const [source] = ModelValue.sourceOf(value)
    if ('signal' in source) return source
    throw wrongGraph(action, `inputs[${k}] must be a result of input(…): current one is an output of a layer`)
  })
  const names = new Set<string>()
  for (const { name } of sources) {
    if (names.size === names.add(name).size)
      throw wrongGraph(action, `the names of inputs must differ: current name of two is ${name}`, { name })
  }
  for (const [name] of named) checkName(action, name)
  const known = reachable(named.map(([, value]) => value))
  const given = new Set<Source>(sources)
  const missing = known.find((source) => 'signal' in source && !given.has(source))
  if (missing !== undefined && 'signal' in missing)
    throw wrongGraph(action, `its outputs read the input ${missing.name}, which must be one of its inputs`, {
      name: missing.name,
    })
  const read = new Set(known)
  const unread = sources.find((source) => !read.has(source))
  if (unread !== undefined)
    throw wrongGraph(action, `an output must read the input ${unread.name}`, { name: unread.name })
  const computed = known.filter((source) => !('signal' in source))
  const places = new Map<Source, number>([...sources, ...computed].map((source, k) => [source, k]))
  const refOf = (value: ModelValue): Ref => {
    const [source, part] = ModelValue.sourceOf(value)
    return [places.get(source) as number, part]
  }
  const layers = [...new Set(computed.flatMap((source) => ('definition' in source ? source.definition : [])))]
  const numbers = new Map(layers.map((layer, k) => [layer, k]))
  const nodes = computed.map((source): PlanNode => {
    if ('merge' in source) return { ...source, from: source.from.map(refOf) }
    const { definition, from, states, others } = source as Extract<Source, { definition: LayerDefinition }>
    const layer = numbers.get(definition) as number
    return { layer, from: refOf(from), states: states.map(refOf), others: others.map(refOf) }
  })
  return { inputs: sources, layers, nodes, outputs: named.map(([name, value]) => ({ name, value: refOf(value) })) }
}

/** All sources that values depend on, each behind those that it reads: in the order in which they were made. */
function reachable(values: readonly ModelValue[]): Source[] {
  const found = new Set<Source>()
  const open = [...values]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    const [source] = ModelValue.sourceOf(value)
    if (found.has(source)) continue
    found.add(source)
    if ('from' in source) open.push(...[source.from].flat())
    if ('states' in source) open.push(...source.states, ...source.others)
  }
  return [...found].sort((a, b) => (ORDER.get(a) as number) - (ORDER.get(b) as number))
}

function wrongGraph(action: string, rule: string, details: Readonly<Record<string, unknown>> = {}) {
  return codedRangeError('ERR_MODEL_GRAPH', `Cannot ${action} as ${rule}`, details)
}
