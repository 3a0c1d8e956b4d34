import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { Forwarded } from './forwarded.js'
import { hostTensor } from './host_tensor.js'
import { Layer, type LayerDefinition, type Pass } from './layer.js'
import { checkInputRule, checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from './layer_options.js'

/**
 * Past the length of a row, the row's last step: what Keras' recurrent layers give at masked steps. Columns that were computed
 * from the end of the sequence stay zero there.
 */
export function holdPadding(options: LayerOptions = {}): LayerDefinition {
  checkLayerOptions('holdPadding', options, LAYER_OPTIONS)
  const definition: LayerDefinition = {
    kind: 'holdPadding',
    name: options.name,
    config: {},
    build(input, build) {
      checkInputRule(definition, input, SEQUENCE)
      const name = build.nameOf(options.name, 'hold_padding')
      return new HoldPaddingLayer(build.backend, { definition, name, input, output: input })
    },
  }
  return definition
}

class HoldPaddingLayer extends Layer {
  async forward(input: TensorLike, { lengths }: Pass): Promise<Forwarded> {
    const { backend } = this
    const changed = async (tensor: TensorLike, change: (data: FloatArray, from: number, to: number) => void) => {
      const { data, shape } = (await hostTensor(tensor)) as Tensor<FloatArray>
      const copy = data.slice() as FloatArray
      this.#eachPadding(shape, lengths, (from, to) => change(copy, from, to))
      return backend.tensor({ data: copy, shape })
    }
    const backward = async (dy: BackendTensor) => {
      const gradient = await changed(dy, (data, from, to) => {
        data[from] += data[to]
        data[to] = 0
      })
      return { input: gradient, variables: [] }
    }
    const output = await changed(input, (data, from, to) => {
      data[to] = data[from]
    })
    return { output, backward }
  }

  /** Elements of the last steps of rows, each with one of a step behind it. */
  #eachPadding(shape: readonly number[], lengths: Pass['lengths'], visit: (from: number, to: number) => void): void {
    if (lengths === null) return
    const [time, batch, columns] = shape as [number, number, number]
    const held = this.input.reversedFrom ?? columns
    for (let b = 0; b < batch; b++) {
      const length = lengths.data[b]
      for (let t = Math.max(1, length); t < time && length > 0; t++) {
        for (let k = 0; k < held; k++) visit(((length - 1) * batch + b) * columns + k, (t * batch + b) * columns + k)
      }
    }
  }
}
