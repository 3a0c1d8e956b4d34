import {
  type CanonicalParams,
  canonicalToPytorch,
  checkOptionNames,
  type FloatArray,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { WeightFileError } from './errors.js'
import { encodeNpz } from './files/npz_file.js'
import { encodeSafetensors } from './files/safetensors_writer.js'

/** A network to write: {@link ImportedNetwork} is one, and so is what a model's `paramsToCanonical` gives. */
export interface NetworkToExport {
  /** Prefix of its tensors in the file; may be empty. */
  readonly name: string
  readonly descriptor: RnnDescriptor
  readonly canonical: CanonicalParams
}

/** Formats that {@link exportWeights} writes. */
export const EXPORT_FORMATS = ['safetensors', 'npz'] as const

export type ExportFormat = (typeof EXPORT_FORMATS)[number]

export interface ExportOptions {
  readonly format: ExportFormat
}

type Tensors = Record<string, Tensor<FloatArray>>

const WRITERS: Readonly<Record<ExportFormat, (networks: readonly NetworkToExport[]) => Promise<Uint8Array>>> = {
  safetensors: async (networks) => encodeSafetensors(stateDict(networks)),
  npz: async (networks) => encodeNpz(stateDict(networks)),
}

/**
 * The bytes of a file that holds `networks` as another framework stores them; {@link importWeights} reads it back.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; WeightFileError `ERR_WEIGHTS_UNSUPPORTED`; RangeError
 *   `ERR_UNSUPPORTED_BY_FRAMEWORK` (skip_input, a biasMode other than double, a projection where there is none)
 */
export async function exportWeights(networks: readonly NetworkToExport[], options: ExportOptions): Promise<Uint8Array> {
  checkOptionNames('export weights', options, ['format'])
  const write = WRITERS[options.format]
  if (write !== undefined) return write(networks)
  throw new WeightFileError(
    'ERR_WEIGHTS_UNSUPPORTED',
    `Cannot export weights as format must be one of ${EXPORT_FORMATS.join(', ')}: current value is ${String(options.format)}`,
  )
}

/** The networks as PyTorch's state dict, `<name>.weight_ih_l0` and so on. */
function stateDict(networks: readonly NetworkToExport[]): Tensors {
  const tensors: Tensors = {}
  for (const { name, descriptor, canonical } of networks) {
    for (const [own, tensor] of Object.entries(
      canonicalToPytorch(descriptor, canonical as CanonicalParams<FloatArray>),
    )) {
      tensors[name === '' ? own : `${name}.${own}`] = tensor
    }
  }
  return tensors
}
