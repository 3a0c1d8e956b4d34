import {
  type CanonicalParams,
  canonicalToKeras,
  type FloatArray,
  numDirections,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { uniqueKerasName } from '@cudnn-rnn/canonical/rules'
import type { NetworkToExport } from '../network_to_export.js'
import { encodeHdf5Variables } from './hdf5_writer.js'

const CLASS_NAMES = { lstm: 'LSTM', gru: 'GRU', rnn_relu: 'SimpleRNN', rnn_tanh: 'SimpleRNN' } as const
const OWN_NAMES: readonly string[] = ['kernel', 'recurrent_kernel', 'bias']

/**
 * A `.weights.h5` file for `model.load_weights` of a Keras 3 model that has just these recurrent layers, one for each layer
 * of each network; with an embedding and a dense layer around them if the network has these. The layout is described in
 * keras_files.ts. Keras's LSTM and SimpleRNN keep the sum of the two biases.
 */
export async function encodeKerasWeights(networks: readonly NetworkToExport[]): Promise<Uint8Array> {
  return encodeHdf5Variables(variablesOf(networks))
}

/** Variables by their paths; Keras numbers layers of one class in the order of the model. */
function variablesOf(networks: readonly NetworkToExport[]): Map<string, Tensor<FloatArray>> {
  const counts = new Map<string, number>()
  const layer = (className: string) => `layers/${uniqueKerasName(counts, className)}`
  const variables = new Map<string, Tensor<FloatArray>>()
  for (const { descriptor, canonical, embedding, dense } of networks) {
    if (embedding !== undefined) variables.set(`${layer('Embedding')}/vars/0`, embedding)
    const directions = numDirections(descriptor)
    let place = ''
    for (const [index, weights] of canonicalToKeras(descriptor, canonical as CanonicalParams<FloatArray>).entries()) {
      if (index % directions === 0) place = layer(directions === 1 ? CLASS_NAMES[descriptor.cellMode] : 'Bidirectional')
      const side = directions === 1 ? '' : index % 2 === 0 ? '/forward_layer' : '/backward_layer'
      for (const [name, tensor] of Object.entries(weights))
        variables.set(`${place}${side}/cell/vars/${OWN_NAMES.indexOf(name)}`, tensor)
    }
    if (dense !== undefined) {
      const top = layer('Dense')
      variables.set(`${top}/vars/0`, dense.kernel)
      variables.set(`${top}/vars/1`, dense.bias)
    }
  }
  return variables
}
