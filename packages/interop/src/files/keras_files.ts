import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { corrupt } from '../errors.js'
import type { KerasLayerConfig, WeightFile } from '../weight_file.js'
import { parseBoundedJson } from './bounded_json.js'
import { openHdf5 } from './hdf5_file.js'
import type { ArchiveEntry } from './zip_archive.js'

/** Models in models are a few levels deep; a layer has some dozen settings. */
const CONFIG_LIMITS = { depth: 200, values: 2 ** 20 }
const LONGEST_CLASS_NAME = 256

/**
 * The three files of Keras. `.h5` of Keras 2 (and 3's legacy one): a group for each layer, by the layer's name, with the
 * weights by their paths; in a whole model these are below `model_weights` and the attribute `model_config` describes the
 * layers. `.weights.h5` of Keras 3: `layers/<class name in snake_case>[_<k>]/…/vars/<index>`. `.keras`: a zip of
 * `config.json` and such a `model.weights.h5`, which is unpacked to memory. Source: keras/src/{legacy/saving/legacy_h5_format,saving/saving_lib}.py.
 */
export async function openKerasH5(source: ByteSource, isPath: boolean): Promise<WeightFile> {
  const { name: path, size } = source
  const file = await openHdf5(isPath ? { path } : { path, bytes: await source.read(0, size) })
  const close = async () => {
    file.close()
    await source.close()
  }
  try {
    const config = file.text('model_config')
    const layers =
      config === undefined ? new Map<string, KerasLayerConfig>() : layersOf(path, new TextEncoder().encode(config))
    const { heldBytes, tensors } = file
    return { format: 'keras-h5', path, heldBytes, tensors, layers, close }
  } catch (error) {
    file.close()
    throw error
  }
}

/** Opens a `.keras` archive; files as {@link openKerasH5}. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
export async function openKerasArchive(
  path: string,
  entries: ReadonlyMap<string, ArchiveEntry>,
  close: () => Promise<void>,
): Promise<WeightFile> {
  const config = await entries.get('config.json')?.read()
  if (config === undefined) throw corrupt(path, 'config.json is missing')
  const weights = entries.get('model.weights.h5')
  if (weights === undefined) throw corrupt(path, 'model.weights.h5 is missing')
  const layers = layersOf(path, config)
  const file = await openHdf5({ path, bytes: await weights.read() })
  return {
    format: 'keras-archive',
    path,
    heldBytes: file.heldBytes,
    tensors: file.tensors,
    layers,
    close: async () => {
      file.close()
      await close()
    },
  }
}

/** Layers under both names that files use: the layer's own, and the one made of its class and its place. */
function layersOf(path: string, json: Uint8Array): ReadonlyMap<string, KerasLayerConfig> {
  const layers = new Map<string, KerasLayerConfig>()
  const visit = (model: unknown, prefix: string): void => {
    const counts = new Map<string, number>()
    for (const layer of layerList(model)) {
      const { class_name: className, config } = layer
      if (typeof className !== 'string' || !isRecord(config)) continue
      if (className.length > LONGEST_CLASS_NAME) throw corrupt(path, 'the class name of a layer is no name')
      const base = snakeCase(className)
      const count = counts.get(base) ?? 0
      counts.set(base, count + 1)
      const placed = `${prefix}${count === 0 ? base : `${base}_${count}`}`
      layers.set(placed, { className, config })
      if (typeof config['name'] === 'string' && !layers.has(config['name'])) {
        layers.set(config['name'], { className, config })
      }
      visit(layer, `${placed}/`)
    }
  }
  visit(parseBoundedJson(path, 'the description of its layers', json, CONFIG_LIMITS), '')
  return layers
}

function layerList(model: unknown): Record<string, unknown>[] {
  const config = isRecord(model) ? model['config'] : undefined
  // Keras before 2.2.3 writes a Sequential's layers without a name around them.
  const layers = Array.isArray(config) ? config : isRecord(config) ? config['layers'] : undefined
  return Array.isArray(layers) ? layers.filter(isRecord) : []
}

/** As Keras names the layers of a weights file: `SimpleRNN` is `simple_rnn`, `LSTM` is `lstm`. */
function snakeCase(className: string): string {
  return className
    .replaceAll(/\W+/g, '')
    .replaceAll(/(.)([A-Z][a-z]+)/g, '$1_$2')
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
