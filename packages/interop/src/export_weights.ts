import { checkArguments, checkOptions, fields, listOf, oneOf, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import {
  type CanonicalParams,
  canonicalToFlax,
  canonicalToPytorch,
  type FloatArray,
  numDirections,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { WeightFileError } from './errors.js'
import { encodeKerasWeights } from './files/keras_writer.js'
import { encodeOnnxNetwork } from './files/onnx_writer.js'
import { encodeSafetensors } from './files/safetensors_reader.js'
import { NETWORK_FIELDS, type NetworkToExport } from './network_to_export.js'

/** Formats that {@link exportWeights} writes. */
export const EXPORT_FORMATS = ['safetensors', 'npz', 'onnx', 'keras', 'flax'] as const

export type ExportFormat = (typeof EXPORT_FORMATS)[number]

const OPTIONS = {
  /** Format of the file. */
  format: oneOf(EXPORT_FORMATS),
}

interface ExportOptions extends OptionsOf<typeof OPTIONS> {}

type NamedTensor = readonly [name: string, tensor: Tensor<FloatArray>]
type Tensors = Record<string, Tensor<FloatArray>>

const WRITERS: Readonly<Record<ExportFormat, (networks: readonly NetworkToExport[]) => Promise<Uint8Array>>> = {
  safetensors: async (networks) => encodeSafetensors(byName(stateDict(networks))),
  npz: async (networks) => (await import('./files/npz_file.js')).encodeNpz(byName(stateDict(networks))),
  keras: encodeKerasWeights,
  flax: async (networks) => (await import('./files/flax_encoder.js')).encodeFlax(byName(flaxParams(networks))),
  onnx: async (networks) => encodeOnnxNetwork(onlyOne(networks)),
}

/**
 * The bytes of a file that holds `networks` as another framework stores them; {@link importWeights} reads it back.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_ARGUMENT`; WeightFileError `ERR_WEIGHTS_UNSUPPORTED`; RangeError
 *   `ERR_INVALID_OPTION`, `ERR_UNSUPPORTED_BY_FRAMEWORK` (skip_input, a biasMode other than double, a projection if there is none)
 * @example
 * ```ts
 * import { CudnnLSTM, exportWeights, importWeights, openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 4, inputSize: 3 })
 * const canonical = await lstm.paramsToCanonical(lstm.createParams({ seed: 1 }))
 * const network = { name: 'encoder', descriptor: lstm.descriptor, canonical }
 * const bytes = await exportWeights([network], { format: 'safetensors' })
 * const { networks } = await importWeights(bytes)
 * console.log(networks[0]?.name, networks[0]?.tensorNames.length) // encoder 4
 * ```
 */
export async function exportWeights(networks: readonly NetworkToExport[], options: ExportOptions): Promise<Uint8Array> {
  const { networks: own } = checkArguments('export weights', { networks }, { networks: listOf(fields(NETWORK_FIELDS)) })
  const { format } = checkOptions('export weights', options, OPTIONS)
  return WRITERS[format](own)
}

/** The networks as PyTorch's state dict, `<name>.weight_ih_l0` and so on. */
function* stateDict(networks: readonly NetworkToExport[]): Iterable<NamedTensor> {
  for (const { name, descriptor, canonical, embedding, dense } of networks) {
    const prefix = name === '' ? '' : `${name}.`
    for (const [own, tensor] of Object.entries(
      canonicalToPytorch(descriptor, canonical as CanonicalParams<FloatArray>),
    )) {
      yield [`${prefix}${own}`, tensor]
    }
    if (embedding !== undefined) yield [`${prefix}embedding.weight`, embedding]
    if (dense !== undefined) {
      yield [`${prefix}dense.weight`, transposed(dense.kernel)]
      yield [`${prefix}dense.bias`, dense.bias]
    }
  }
}

/** The networks as Flax's parameters, a cell for each layer: `<name>/layer_<l>/ii/kernel` and so on. */
function* flaxParams(networks: readonly NetworkToExport[]): Iterable<NamedTensor> {
  for (const { name, descriptor, canonical, embedding, dense } of networks) {
    const prefix = name === '' ? 'params/' : `params/${name}/`
    const cells = canonicalToFlax(descriptor, canonical as CanonicalParams<FloatArray>)
    const directions = numDirections(descriptor)
    for (const [index, cell] of cells.entries()) {
      const side = directions === 1 ? '' : index % 2 === 0 ? 'forward/' : 'backward/'
      const place = cells.length === 1 ? '' : `layer_${Math.floor(index / directions)}/${side}`
      for (const [own, tensor] of Object.entries(cell)) yield [`${prefix}${place}${own}`, tensor]
    }
    if (embedding !== undefined) yield [`${prefix}embedding/embedding`, embedding]
    if (dense !== undefined) {
      yield [`${prefix}dense/kernel`, dense.kernel]
      yield [`${prefix}dense/bias`, dense.bias]
    }
  }
}

/** Throws WeightFileError `ERR_WEIGHTS_UNSUPPORTED` for two tensors of one name: one of them would be lost. */
function byName(tensors: Iterable<NamedTensor>): Tensors {
  const named = new Map<string, Tensor<FloatArray>>()
  for (const [name, tensor] of tensors) {
    if (named.has(name)) {
      throw new WeightFileError(
        'ERR_WEIGHTS_UNSUPPORTED',
        `Cannot export weights as networks must have distinct names: two have a tensor ${name}`,
      )
    }
    named.set(name, tensor)
  }
  return Object.fromEntries(named)
}

/** `nn.Linear` keeps [out,in]. */
function transposed({ data, shape }: Tensor<FloatArray>): Tensor<FloatArray> {
  const [rows, columns] = shape as [number, number]
  const turned = data.slice()
  for (const [index, value] of data.entries()) turned[(index % columns) * rows + Math.floor(index / columns)] = value
  return { data: turned, shape: [columns, rows] }
}

function onlyOne(networks: readonly NetworkToExport[]): NetworkToExport {
  const [network] = networks
  if (networks.length === 1 && network !== undefined) return network
  throw new WeightFileError(
    'ERR_WEIGHTS_UNSUPPORTED',
    `Cannot export weights as an ONNX model computes one network: current number is ${networks.length}. Export them one by one, or stack them`,
  )
}
