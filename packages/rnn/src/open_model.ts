import {
  checkedElsewhere,
  checkOptions,
  codedRangeError,
  OBJECT,
  type OptionsOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import type { FixedValues, Graph, OnnxRuntime, StateChoice } from '@cudnn-rnn/graphs'
import { importWeights, openWeightFile, type WeightInput } from '@cudnn-rnn/interop'
import { importKeras, type LayersModel, loadModel } from '@cudnn-rnn/layers'
import type { Backend } from '@cudnn-rnn/ops'
import { openBackend } from './open_backend.js'

const OPTIONS = {
  /** The executor of a model of layers. Default: `openBackend('auto')`. */
  backend: optional<Backend>(OBJECT),
  /** By `importKeras`: stateful layers of a Keras file begin every call with zeros. Default false: they are refused. */
  restarts: checkedElsewhere<boolean | undefined>(),
  // By openGraph, to which they are passed.
  /** ONNX Runtime, for ONNX files: the module `onnxruntime-node` or `onnxruntime-web`. */
  ort: checkedElsewhere<OnnxRuntime | undefined>(),
  /** Constants in place of inputs and open sizes of an ONNX file. */
  fixed: checkedElsewhere<FixedValues | undefined>(),
  /** States of an ONNX file. Default 'auto'. */
  states: checkedElsewhere<StateChoice | undefined>(),
  /** Options of ONNX Runtime's session, for an ONNX file. */
  session: checkedElsewhere<object | undefined>(),
}

interface OpenModelOptions extends OptionsOf<typeof OPTIONS> {}

/** A `URL`: declarations do without the types of a platform. */
interface Address {
  readonly href: string
  readonly protocol: string
}

const KERAS = ['keras-archive', 'keras-h5', 'keras-json']

/**
 * Opens a whole model by the contents of its file: one that `save` or `fit` of this project wrote, or a Keras file, as a model of
 * layers; an ONNX file as a graph over the caller's ONNX Runtime. Both have `stream` and `streamPool`; a model of layers has
 * `predict` and `fit`, a graph `run`. Without `ort` the result is a model of layers.
 *
 * @param file a path, an address, bytes, a `File` or a `Response`
 * @throws RangeError `ERR_NO_ONNX_RUNTIME` for an ONNX file without `ort`, `ERR_WEIGHTS_ALONE` for a file without layers; the errors
 *   of `loadModel`, `importKeras` and `openGraph`
 * @example
 * ```ts
 * import { cudnnGRU, dense, openBackend, openModel, sequential } from '@cudnn-rnn/rnn'
 * import * as ort from 'onnxruntime-node'
 *
 * const backend = await openBackend('reference')
 * const trained = sequential(backend, [cudnnGRU({ numUnits: 4 }), dense({ units: 1 })], { inputSize: 3, seed: 1 })
 *
 * const model = await openModel(await trained.export('onnx'), { ort }) // or 'model.onnx', 'model.keras', 'runs/a'
 * console.log('predict' in model ? 'layers' : 'graph') // graph
 * model.dispose()
 * ```
 */
export async function openModel(
  file: WeightInput | Address,
  options?: Pick<OpenModelOptions, 'backend' | 'restarts'> & { readonly ort?: undefined },
): Promise<LayersModel>
export async function openModel(file: WeightInput | Address, options: OpenModelOptions): Promise<LayersModel | Graph>
export async function openModel(
  file: WeightInput | Address,
  options: OpenModelOptions = {},
): Promise<LayersModel | Graph> {
  const action = 'open a model'
  const { backend, restarts, ort, ...ofGraph } = checkOptions(action, options, OPTIONS)
  const input = await inputOf(file)
  const { format, path, close } = await openWeightFile(input)
  await close()
  if (format === 'onnx') {
    // Loaded with the first graph: most programs have none.
    if (ort !== undefined) return (await import('@cudnn-rnn/graphs')).openGraph(input, { ort, ...ofGraph })
    throw codedRangeError(
      'ERR_NO_ONNX_RUNTIME',
      `Cannot ${action} as an ONNX file needs ONNX Runtime: install onnxruntime-node or onnxruntime-web, import * as ort from it, and pass { ort }: ${path}`,
      { path },
    )
  }
  const isKeras = KERAS.includes(format)
  const isOurs = format === 'tensorflow' && typeof input === 'string'
  if (!isKeras && !isOurs) throw await weightsAlone(action, input, path)
  const executor = backend ?? (await openBackend('auto'))
  return isKeras ? importKeras(executor, input, { restarts }) : loadModel(executor, input as string)
}

/** A file that can be opened more than once: a response is read. */
async function inputOf(file: WeightInput | Address): Promise<WeightInput> {
  if (typeof file === 'string') return file
  const { openSource } = await import('@cudnn-rnn/interop/internal')
  if (!(file instanceof URL)) return openSource(file as WeightInput)
  if (file.protocol !== 'file:') return openSource(await fetch(file))
  const { fileURLToPath } = await import('node:url')
  return fileURLToPath(file)
}

/** The error of a file of tensors, with its networks. */
async function weightsAlone(action: string, input: WeightInput, path: string) {
  const { networks } = await importWeights(input)
  const names = networks.map(
    ({ name, descriptor }) => `${name || '(unnamed)'} (${descriptor.cellMode}, ${descriptor.numUnits} units)`,
  )
  const found = names.length === 0 ? 'no recurrent network' : `the networks ${names.slice(0, 8).join(', ')}`
  return codedRangeError(
    'ERR_WEIGHTS_ALONE',
    `Cannot ${action} as the file must describe its layers: it has weights alone, of ${found}. loadNetwork(backend, file) makes a model of a network; sequential(backend, layers) describes the layers around it: ${path}`,
    { path, networks: networks.map(({ name }) => name) },
  )
}
