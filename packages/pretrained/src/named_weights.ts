import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { cudnnLSTM, type ImportedNetwork, type LayerDefinition, type Tensor } from '@cudnn-rnn/rnn'
import type { WeightFile } from '@cudnn-rnn/rnn/interop'

/** Reads float32 elements of a tensor by its name; it must have just this shape. */
export type WeightReader = (name: string, shape: readonly number[]) => Promise<Tensor<Float32Array>>

/** A reader of one file. It throws RangeError `ERR_OTHER_MODEL` for a name or a shape that the file does not have. */
export function weightReader({ tensors, path }: WeightFile): WeightReader {
  return async (name, shape) => {
    const tensor = tensors.find((candidate) => candidate.name === name)
    const found = tensor === undefined ? 'absent' : `[${tensor.shape}]`
    if (tensor !== undefined && found === `[${shape}]`) return { data: Float32Array.from(await tensor.read()), shape }
    throw otherModel(path, `${name} must be a tensor [${shape}]`, found)
  }
}

/** An LSTM of a file as a layer. */
export function lstmLayer({ descriptor, canonical }: ImportedNetwork): LayerDefinition {
  return cudnnLSTM({ network: { descriptor, canonical } })
}

/**
 * The networks of a file that must be LSTMs of one layer and one direction, of these sizes and in this order.
 *
 * @throws RangeError `ERR_OTHER_MODEL`
 */
export function lstmsOf(
  path: string,
  networks: readonly ImportedNetwork[],
  sizes: readonly (readonly [inputSize: number, numUnits: number])[],
): readonly ImportedNetwork[] {
  const wanted = sizes.map(([inputSize, numUnits]) => `lstm ${inputSize} → ${numUnits}`)
  const found = networks.map(({ descriptor }) => {
    const { cellMode, numLayers, direction, inputSize, numUnits, numProj } = descriptor
    const isPlain = numLayers === 1 && direction === 'unidirectional' && numProj === undefined
    return `${cellMode} ${inputSize} → ${numUnits}${isPlain ? '' : `, ${numLayers} layers, ${direction}`}`
  })
  if (found.join() === wanted.join()) return networks
  throw otherModel(path, `its recurrent networks must be ${wanted.join('; ')}`, found.join('; ') || 'none')
}

/** RangeError `ERR_OTHER_MODEL`. */
export function otherModel(path: string, rule: string, found: string): RangeError {
  const message = `Cannot read ${path} as ${rule}: current value is ${found}. It is another model: give the file that the documentation names.`
  return codedRangeError('ERR_OTHER_MODEL', message, { path })
}
