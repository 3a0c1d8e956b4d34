import { join } from 'node:path'
import { describeValue, elementCount } from '@cudnn-rnn/canonical'
import {
  checkOptions,
  codedRangeError,
  either,
  fields,
  hasErrorCode,
  integerFrom,
  jsonObject,
  keyOf,
  kind,
  listOf,
  OBJECT,
  optional,
  type OptionsOf,
  TEXT,
  where,
} from '@cudnn-rnn/canonical/rules'
import { CheckpointError, type FileStore, isFileStore, latestCheckpoint, openCheckpoint } from '@cudnn-rnn/checkpoint'
import type { Backend } from '@cudnn-rnn/ops'
import { RestoreError, Saver } from '@cudnn-rnn/saveable'
import { checkIsBackend } from '@cudnn-rnn/ops/executor'
import { MERGES } from '../kinds/merges.js'
import type { LayerDefinition } from '../layer.js'
import { NAME } from '../layer_build.js'
import { layersFromConfig } from '../layer_registry.js'
import type { Signal } from '../signal.js'
import { checkLoss, type Loss } from '../training/losses.js'
import { BEST, STORE } from '../training/training_checkpoints.js'
import { LayersModel } from './layers_model.js'
import { chainPlan, type GraphPlan, type PlanNode, type Ref } from './model_graph.js'
import { MODEL_FORMAT, MODEL_KEY, OTHER_FILE, recurrentModels } from './save_model.js'
import { saveablesOf } from './variable_saveables.js'

const OPTIONS = {
  /** Layers by their names, in place of those that the file describes: it cannot describe the cell of `rnn(cell)`. */
  layers: optional<Readonly<Record<string, LayerDefinition>>>(OBJECT),
  /** A folder outside the system's files, such as one of a browser; the path is then a name in it. */
  store: optional<FileStore>(STORE),
}

interface LoadModelOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * A model that `save` or `fit` wrote.
 *
 * @param path the argument of `save`, or the directory of a run (a string or a store): then its best checkpoint, else its latest.
 * @throws RangeError `ERR_NOT_A_MODEL`, `ERR_UNKNOWN_LAYER`; RestoreError for other variables; CheckpointError
 * @example
 * ```ts
 * import { cudnnGRU, dense, loadModel, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const trained = sequential(backend, [cudnnGRU({ numUnits: 4, inputSize: 3 }), dense({ units: 2 })], { seed: 1 })
 * await trained.save('runs/a/final')
 * const model = await loadModel(backend, 'runs/a/final')
 * const input = { data: new Float32Array(5 * 3).fill(1), shape: [5, 1, 3] } // [T,B,I]
 * console.log((await model.predict(input)).data[0] === (await trained.predict(input)).data[0]) // true
 * ```
 */
export async function loadModel(
  backend: Backend,
  path: string | FileStore,
  options: LoadModelOptions = {},
): Promise<LayersModel> {
  const action = 'load a model'
  const given = checkOptions(action, options, OPTIONS)
  checkIsBackend(action, backend)
  if (typeof path === 'string' && OTHER_FILE.test(path)) {
    throw notAModel(
      path,
      'it has the name of a file of another library: importKeras reads whole models of Keras, importWeights recurrent networks',
    )
  }
  const { prefix, store } = await checkpointOf(path, given.store)
  const description = await describedModel(prefix, store)
  const { layers, input, seed, loss, elements } = description
  const definitions = layersFromConfig(layers, given.layers ?? {})
  const plan = input === undefined ? planOfConfig(prefix, definitions, description) : chainPlan(definitions, input)
  const model = new LayersModel(
    backend,
    plan,
    { seed },
    {
      elements,
      refusal: (layer, count) => otherVariables(prefix, layer, count),
    },
  )
  try {
    await new Saver(saveablesOf(backend, model.variables, recurrentModels(model)), { store }).restore(prefix)
    model.loss = savedLoss(model, loss)
    return model
  } catch (error) {
    model.dispose()
    throw error
  }
}

async function checkpointOf(path: string | FileStore, store: FileStore | undefined) {
  if (isFileStore(path)) return newestOf(path)
  try {
    await (await openCheckpoint(path, { store })).close()
    return { prefix: path, store }
  } catch (error) {
    if (store !== undefined || !hasErrorCode(error, 'ERR_CHECKPOINT_NOT_FOUND')) throw error
    const found = (await latestCheckpoint(join(path, BEST))) ?? (await latestCheckpoint(path))
    if (found === null) throw error
    return { prefix: found, store }
  }
}

async function newestOf(run: FileStore) {
  for (const store of [run.folder(BEST), run]) {
    const prefix = await latestCheckpoint(store)
    if (prefix !== null) return { prefix, store }
  }
  throw new CheckpointError(
    'ERR_CHECKPOINT_NOT_FOUND',
    'Cannot load a model as the store has no checkpoint (write one by model.save or model.fit)',
    {
      path: run.name,
    },
  )
}

interface Description {
  readonly layers: readonly unknown[]
  /** The only input of a chain; other models have a graph. */
  readonly input?: Signal
  readonly seed: number
  readonly loss?: unknown
  /** Elements of all tensors of the checkpoint. */
  readonly elements: number
}

async function describedModel(prefix: string, store: FileStore | undefined): Promise<Description> {
  await using reader = await openCheckpoint(prefix, { store })
  if (!reader.has(MODEL_KEY)) throw notAModel(prefix, `it has no ${MODEL_KEY}`)
  const { data } = await reader.read(MODEL_KEY)
  const description = jsonObject(data as Uint8Array)
  if (description === undefined) throw notAModel(prefix, 'its description is no JSON object')
  const { format, layers, input, seed } = description
  if (format !== MODEL_FORMAT)
    throw notAModel(prefix, `its format must be ${MODEL_FORMAT}: current value is ${describeValue(format)}`)
  const isWhole = Array.isArray(layers) && layers.length > 0 && (input === undefined || isSignal(input))
  if (!isWhole || !Number.isSafeInteger(seed)) throw notAModel(prefix, 'its description is incomplete')
  const elements = reader.names().reduce((sum, name) => sum + elementCount(reader.shape(name)), 0)
  return { ...(description as unknown as Omit<Description, 'elements'>), elements }
}

/** The loss of a description; undefined for one that this release does not have: the model can still predict. */
function savedLoss(model: LayersModel, loss: unknown): Loss | undefined {
  try {
    return checkLoss('load a model', loss, model)
  } catch {
    return undefined
  }
}

function isSignal(value: unknown): value is Signal {
  if (typeof value !== 'object' || value === null) return false
  const { isSequence, features } = value as Record<string, unknown>
  return typeof isSequence === 'boolean' && (features === null || Number.isSafeInteger(features))
}

const NAMED = where(TEXT, 'a name of letters, digits, ".", "_" and "-"', (name) => NAME.test(name))
const PLACE = kind('a pair [source, part]', (ref): ref is Ref => {
  return Array.isArray(ref) && ref.length === 2 && ref.every((place) => Number.isSafeInteger(place) && place >= 0)
})
const INPUTS = fields({ name: NAMED, signal: kind('a form { isSequence, features }', isSignal) })
const PLACES = optional(listOf(PLACE))
const LAYER_NODE = fields({ layer: integerFrom(0), from: PLACE, states: PLACES, others: PLACES })
const MERGE_NODE = fields({ merge: keyOf(MERGES), from: listOf(PLACE, 1), name: optional(NAMED) })
const NODE = either(LAYER_NODE, MERGE_NODE)
const OUTPUTS = fields({ name: NAMED, value: PLACE })
const GRAPH = fields({ inputs: listOf(INPUTS, 1), nodes: listOf(NODE, 1), outputs: listOf(OUTPUTS, 1) })

/** The plan of a description, which a user may have edited. Throws RangeError `ERR_NOT_A_MODEL`. */
function planOfConfig(path: string, layers: readonly LayerDefinition[], description: object): GraphPlan {
  const fault = GRAPH.find(description, 'graph')
  if (fault !== undefined) throw notAModel(path, `its ${fault.path} must be ${fault.words}`)
  const { inputs, nodes: given, outputs } = description as Omit<GraphPlan, 'layers'>
  const nodes = given.map((node): PlanNode => {
    const isLayer = LAYER_NODE.find(node, '') === undefined
    const { layer, merge, name, from, states, others } = node as unknown as Readonly<Record<string, never>>
    return isLayer ? { layer, from, states, others } : { merge, name, from }
  })
  const refuse = (rule: string) => notAModel(path, `its graph must ${rule}`)
  const isBefore = ([source, part]: Ref, end: number) => {
    const node = nodes[source - inputs.length]
    const states = node !== undefined && 'layer' in node ? (layers[node.layer].states ?? 0) : 0
    return source < end && part <= states
  }
  for (const [at, node] of nodes.entries()) {
    const isKnown =
      'merge' in node ? (MERGES[node.merge].count ?? node.from.length) === node.from.length : layers[node.layer]
    const read = 'merge' in node ? node.from : [node.from, ...(node.states ?? []), ...(node.others ?? [])]
    if (!isKnown || !read.every((ref) => isBefore(ref, inputs.length + at)))
      throw refuse(`have a node ${at} that reads earlier ones`)
  }
  if (!outputs.every(({ value }) => isBefore(value, inputs.length + nodes.length)))
    throw refuse('have outputs that are values of its nodes')
  for (const named of [inputs, outputs])
    if (new Set(named.map(({ name }) => name)).size < named.length)
      throw refuse('have inputs and outputs of other names')
  const used = new Set(nodes.map((node) => ('layer' in node ? node.layer : undefined)))
  if (layers.some((_, k) => !used.has(k))) throw refuse('apply each of its layers')
  return { inputs, layers, nodes, outputs }
}

/** The description has more elements than the file: the variables are compared with the file afterwards, before any is made. */
function otherVariables(prefix: string, layer: string, elements: number) {
  const mismatch = { key: layer, expected: `of ${elements} elements`, actual: 'of fewer in the checkpoint' }
  return new RestoreError(prefix, { missing: [], extra: [], misshapen: [mismatch] })
}

function notAModel(prefix: string, rule: string) {
  return codedRangeError('ERR_NOT_A_MODEL', `Cannot load a model as ${prefix} is none: ${rule}`, { path: prefix })
}
