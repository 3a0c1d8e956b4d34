import { openBackend, type Tensor } from '@cudnn-rnn/rnn'
import type { NetworkToExport } from '@cudnn-rnn/rnn/interop'
import { recurrentLayer } from './char_language_model.js'
import { restoreModel } from './training_run.js'

/**
 * The trained character model of a run with the layers around its network: from ids to logits.
 *
 * @throws RangeError `ERR_NO_RUN`
 */
export async function networkOfRun(directory: string): Promise<NetworkToExport> {
  const backend = await openBackend('reference')
  try {
    const { model } = await restoreModel(directory, backend)
    try {
      const lstm = recurrentLayer(model)
      const { descriptor, weights, biases } = await lstm.model.paramsToCanonical(lstm.variables[0])
      const read = async (index: number) => copy(await model.variables[index].value.read())
      return {
        name: lstm.name,
        descriptor,
        canonical: { weights, biases },
        embedding: await read(0),
        dense: { kernel: await read(2), bias: await read(3) },
      }
    } finally {
      model.dispose()
    }
  } finally {
    backend.dispose()
  }
}

/** Also frees the executor's memory. */
function copy({ data, shape }: Tensor): Tensor<Float32Array> {
  return { data: Float32Array.from(data as Float32Array), shape }
}
