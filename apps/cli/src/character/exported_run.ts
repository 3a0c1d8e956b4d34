import { openBackend, type Tensor, type Variable } from '@cudnn-rnn/rnn'
import type { NetworkToExport } from '@cudnn-rnn/rnn/interop'
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
      const { descriptor, weights, biases } = await model.lstm.paramsToCanonical(model.params)
      const [kernel, bias] = [await floats(model.output.kernel), await floats(model.output.bias)]
      const embedding = await floats(model.embedding)
      return { name: 'lstm', descriptor, canonical: { weights, biases }, embedding, dense: { kernel, bias } }
    } finally {
      model.dispose()
    }
  } finally {
    backend.dispose()
  }
}

/** A copy: the executor's memory goes with it. */
async function floats({ value }: Variable): Promise<Tensor<Float32Array>> {
  const { data, shape } = await value.read()
  return { data: Float32Array.from(data), shape }
}
