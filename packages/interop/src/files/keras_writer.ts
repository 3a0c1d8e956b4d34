import {
  type CanonicalParams,
  canonicalToKeras,
  type FloatArray,
  numDirections,
  type Tensor,
} from '@cudnn-rnn/canonical'
import type { NetworkToExport } from '../network_to_export.js'
import { loadHdf5 } from './hdf5_library.js'

const CLASS_NAMES = { lstm: 'lstm', gru: 'gru', rnn_relu: 'simple_rnn', rnn_tanh: 'simple_rnn' } as const
const OWN_NAMES = ['kernel', 'recurrent_kernel', 'bias'] as const

/** Files open at the same time have names of their own in the library's memory. */
let filesWritten = 0

/**
 * A `.weights.h5` file for `model.load_weights` of a Keras 3 model that has just these recurrent layers, one for each layer
 * of each network; with an embedding and a dense layer around them where the network has these. The layout is described in
 * keras_files.ts. Keras's LSTM and SimpleRNN keep the sum of the two biases.
 */
export async function encodeKerasWeights(networks: readonly NetworkToExport[]): Promise<Uint8Array> {
  const h5wasm = await loadHdf5('write HDF5')
  const { FS } = await h5wasm.ready
  const name = `/export_${filesWritten++}.weights.h5`
  const file = new h5wasm.File(name, 'w')
  try {
    for (const [path, { data, shape }] of variablesOf(networks)) {
      const segments = path.split('/')
      const own = segments.pop()!
      let group: InstanceType<typeof h5wasm.Group> = file
      for (const segment of segments) {
        const existing = group.get(segment)
        group = existing instanceof h5wasm.Group ? existing : group.create_group(segment)
      }
      const dtype = data instanceof Float64Array ? '<d' : '<f'
      group.create_dataset({ name: own, data, shape: [...shape], dtype })
    }
    file.close()
    return FS.readFile(name)
  } finally {
    FS.unlink(name)
  }
}

/** Variables by their paths; Keras numbers layers of one class in the order of the model. */
function variablesOf(networks: readonly NetworkToExport[]): Map<string, Tensor<FloatArray>> {
  const counts = new Map<string, number>()
  const layer = (className: string) => {
    const count = counts.get(className) ?? 0
    counts.set(className, count + 1)
    return `layers/${className}${count === 0 ? '' : `_${count}`}`
  }
  const variables = new Map<string, Tensor<FloatArray>>()
  for (const { descriptor, canonical, embedding, dense } of networks) {
    if (embedding !== undefined) variables.set(`${layer('embedding')}/vars/0`, embedding)
    const directions = numDirections(descriptor)
    let place = ''
    for (const [index, weights] of canonicalToKeras(descriptor, canonical as CanonicalParams<FloatArray>).entries()) {
      if (index % directions === 0) place = layer(directions === 1 ? CLASS_NAMES[descriptor.cellMode] : 'bidirectional')
      const side = directions === 1 ? '' : index % 2 === 0 ? '/forward_layer' : '/backward_layer'
      for (const [number, own] of OWN_NAMES.entries())
        variables.set(`${place}${side}/cell/vars/${number}`, weights[own]!)
    }
    if (dense !== undefined) {
      const top = layer('dense')
      variables.set(`${top}/vars/0`, dense.kernel)
      variables.set(`${top}/vars/1`, dense.bias)
    }
  }
  return variables
}
