import { entryOf } from '@cudnn-rnn/canonical/rules'
import {
  type CanonicalParams,
  canonicalToOnnx,
  type FloatArray,
  numDirections,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { encodeOnnxModel, type NodeToWrite, type OnnxElementType } from '@cudnn-rnn/interop'
import { BranchLayer } from './branch_layer.js'
import { noExport } from './export_error.js'
import type { Layer } from './layer.js'
import { RecurrentLayer } from './recurrent.js'
import { takesLastOfBackward } from './sequence_pooling.js'
import { featuresOf } from './signal.js'
import { TimeDistributedLayer } from './time_distributed.js'
import type { WholeModel } from './whole_model.js'
import type { Padding } from './windows.js'

/** An operator set of ONNX Runtime 1.6 and later, and its file version. */
const OPSET = 14
const IR_VERSION = 7

const OPERATORS = { lstm: 'LSTM', gru: 'GRU', rnn_tanh: 'RNN', rnn_relu: 'RNN' } as const

const ACTIVATIONS: ReadonlyMap<string, string> = new Map([
  ['tanh', 'Tanh'],
  ['sigmoid', 'Sigmoid'],
  ['relu', 'Relu'],
  ['elu', 'Elu'],
  ['softplus', 'Softplus'],
])

/**
 * A model as an ONNX file that any runtime runs, time-major as here: input `input` [time,batch,I] (`ids` int64 of class ids),
 * output `output`. All steps count; there are no sequence lengths.
 *
 * @throws RangeError `ERR_NO_EXPORT`, naming the layer that ONNX has no counterpart of
 */
export async function encodeOnnx(model: WholeModel): Promise<Uint8Array> {
  const graph = new OnnxGraph(model.executor.dtype)
  const { input, output, executor } = model
  const isIds = input.features === null
  const first = isIds ? 'ids' : 'input'
  const last = await graph.chain(model.layers, first)
  graph.node('Identity', 'output', [last], ['output'])
  const leading = (isSequence: boolean) => (isSequence ? ['time', 'batch'] : ['batch'])
  const elementType = executor.dtype
  return encodeOnnxModel(
    {
      name: 'model',
      nodes: graph.nodes,
      initializers: graph.initializers,
      inputs: [
        isIds
          ? { name: first, elementType: 'int64', shape: leading(input.isSequence) }
          : { name: first, elementType, shape: [...leading(input.isSequence), input.features] },
      ],
      outputs: [{ name: 'output', elementType, shape: [...leading(output.isSequence), featuresOf(output)] }],
    },
    IR_VERSION,
    OPSET,
  )
}

/** A graph that grows layer by layer. */
class OnnxGraph {
  readonly nodes: NodeToWrite[] = []
  readonly initializers: Record<string, Tensor<FloatArray> | readonly number[]> = {}
  readonly #elementType: OnnxElementType
  #count = 0

  constructor(elementType: OnnxElementType) {
    this.#elementType = elementType
  }

  node(
    opType: string,
    name: string,
    inputs: readonly string[],
    outputs: readonly string[] = [this.#fresh(name)],
    attributes: NodeToWrite['attributes'] = {},
  ): string {
    this.nodes.push({ opType, name: this.#fresh(`${name}_node`), inputs, outputs, attributes })
    return outputs[0]
  }

  async chain(layers: readonly Layer[], input: string): Promise<string> {
    let x = input
    for (const layer of layers) x = await this.layer(layer, x)
    return x
  }

  async layer(layer: Layer, x: string): Promise<string> {
    const { name, kind } = layer
    const { config } = layer.definition
    const one = (opType: string, inputs: readonly string[], attributes?: NodeToWrite['attributes']) =>
      this.node(opType, name, inputs, undefined, attributes)
    if (layer instanceof RecurrentLayer) return this.#recurrent(layer, x)
    if (layer instanceof TimeDistributedLayer) return this.layer(layer.inner, x)
    if (layer instanceof BranchLayer) {
      const parts: string[] = []
      for (const branch of layer.branches) parts.push(await this.chain(branch, x))
      if (kind === 'add') return one('Sum', parts)
      return kind === 'multiply' ? one('Mul', parts) : one('Concat', parts, { axis: -1 })
    }
    switch (kind) {
      case 'embedding':
        if (config['maskZero'] !== undefined) throw noExport('ONNX', { name, kind: 'embedding with maskZero' })
        return one('Gather', [await this.#variable(layer, 0), x])
      case 'dense': {
        const product = one('MatMul', [x, await this.#variable(layer, 0)])
        return this.#activation(name, one('Add', [product, await this.#variable(layer, 1)]), config['activation'])
      }
      case 'conv1d':
      case 'conv2d':
        return this.#activation(name, await this.#convolution(layer, x), config['activation'])
      case 'maxPool1d':
      case 'maxPool2d':
        return this.#overPicture(layer, x, (picture) => {
          const attributes = this.#windowAttributes(layer, 'poolSize')
          return this.node('MaxPool', name, [picture], undefined, attributes)
        })
      case 'activation':
        return this.#bounded(name, this.#activation(name, x, config['activation']), config['maximum'])
      case 'dropout':
        return x
      case 'layerNorm':
        return this.#layerNorm(layer, x, Number(config['epsilon']))
      case 'lastStep':
        return this.#lastStep(layer, x)
      case 'meanOverTime':
        return one('ReduceMean', [x], { axes: [0], keepdims: 0 })
      case 'maxOverTime':
        return one('ReduceMax', [x], { axes: [0], keepdims: 0 })
      case 'attentionPooling': {
        let hidden = x
        if (config['isLinear'] !== true) {
          const product = one('MatMul', [x, await this.#variable(layer, 0)])
          hidden = one('Tanh', [one('Add', [product, await this.#variable(layer, 1)])])
        }
        const scores = one('MatMul', [hidden, await this.#variable(layer, layer.variables.length - 1)])
        const weighted = one('Mul', [x, one('Softmax', [scores], { axis: 0 })])
        return one('ReduceSum', [weighted, this.#integers(name, [0])], { keepdims: 0 })
      }
      case 'reverse': {
        // The end is clamped to the beginning of the axis.
        const [starts, ends, axes, steps] = [[-1], [-(2 ** 31)], [0], [-1]].map((list) => this.#integers(name, list))
        return one('Slice', [x, starts, ends, axes, steps])
      }
    }
    throw noExport('ONNX', layer)
  }

  async #recurrent({ name, model, variables }: RecurrentLayer, input: string): Promise<string> {
    const { descriptor } = model
    if (descriptor.cellClip !== undefined) {
      throw noExport('ONNX', { name, kind: `${model.rnnMode} with cellClip` })
    }
    const canonical = (await model.paramsToCanonical(variables[0])) as CanonicalParams<FloatArray>
    const { numUnits: H, cellMode } = descriptor
    const isBoth = numDirections(descriptor) === 2
    let x = input
    for (const tensors of canonicalToOnnx(descriptor, canonical)) {
      const inputs = ['W', 'R', 'B'].map((key) => this.#initializer(`${name}_${key}`, tensors[key]))
      const y = this.node(OPERATORS[cellMode], name, [x, ...inputs], undefined, {
        hidden_size: H,
        direction: isBoth ? 'bidirectional' : 'forward',
        ...(cellMode === 'gru' && { linear_before_reset: 1 }),
        ...(cellMode === 'rnn_relu' && { activations: isBoth ? ['Relu', 'Relu'] : ['Relu'] }),
      })
      // [T,D,B,H] to [T,B,D·H].
      const swapped = this.node('Transpose', name, [y], undefined, { perm: [0, 2, 1, 3] })
      x = this.node('Reshape', name, [swapped, this.#integers(name, [0, 0, numDirections(descriptor) * H])])
    }
    return x
  }

  /** Opset 14 has no LayerNormalization. */
  async #layerNorm(layer: Layer, x: string, epsilon: number): Promise<string> {
    const { name } = layer
    const mean = (of: string) => this.node('ReduceMean', name, [of], undefined, { axes: [-1], keepdims: 1 })
    const centered = this.node('Sub', name, [x, mean(x)])
    const variance = mean(this.node('Mul', name, [centered, centered]))
    const shifted = this.node('Add', name, [variance, this.#initializer(`${name}_epsilon`, this.#scalar(epsilon))])
    const normal = this.node('Div', name, [centered, this.node('Sqrt', name, [shifted])])
    const scaled = this.node('Mul', name, [normal, await this.#variable(layer, 0)])
    return this.node('Add', name, [scaled, await this.#variable(layer, 1)])
  }

  async #convolution(layer: Layer, x: string): Promise<string> {
    const { name, variables } = layer
    const { data, shape } = await variables[0].value.read()
    // [time,(height,)C,O] to [O,C,time,height].
    const [taps, height, channels, outputs] = shape.length === 3 ? [shape[0], 1, shape[1], shape[2]] : shape
    const kernel = this.#initializer(`${name}_kernel`, {
      data: data.slice() as FloatArray,
      shape: [taps, height, channels, outputs],
    })
    const turned = this.node('Transpose', name, [kernel], undefined, { perm: [3, 2, 0, 1] })
    const bias = await this.#variable(layer, 1)
    return this.#overPicture(layer, x, (picture) =>
      this.node('Conv', name, [picture, turned, bias], undefined, this.#windowAttributes(layer, 'kernelSize')),
    )
  }

  /** Sizes of windows over [batch,C,time,height]. */
  #windowAttributes({ definition: { config } }: Layer, size: string): NonNullable<NodeToWrite['attributes']> {
    const pair = (value: unknown) => (Array.isArray(value) ? (value as number[]) : [Number(value), 1])
    const shape = pair(config[size])
    const given = config['padding']
    if (typeof given === 'number') {
      return { kernel_shape: shape, strides: pair(config['strides']), pads: [given, 0, given, 0] }
    }
    const padding = {
      valid: { pads: [0, 0, 0, 0] },
      same: { auto_pad: 'SAME_UPPER' },
      causal: { pads: [shape[0] - 1, 0, 0, 0] },
    }[given as Padding]
    return { kernel_shape: shape, strides: pair(config['strides']), ...padding }
  }

  /** x [time,batch,height·C] as [batch,C,time,height], and the result back. */
  #overPicture({ name, definition }: Layer, x: string, compute: (picture: string) => string): string {
    const height = Number(definition.config['height'] ?? 1)
    const parts = this.node('Reshape', name, [x, this.#integers(name, [0, 0, height, -1])])
    const y = compute(this.node('Transpose', name, [parts], undefined, { perm: [1, 3, 0, 2] }))
    const turned = this.node('Transpose', name, [y], undefined, { perm: [2, 0, 3, 1] })
    return this.node('Reshape', name, [turned, this.#integers(name, [0, 0, -1])])
  }

  #lastStep(layer: Layer, x: string): string {
    const { name, input } = layer
    const stepOf = (of: string, index: number) => {
      const step = this.node('Gather', name, [of, this.#integers(name, [index])], undefined, { axis: 0 })
      return this.node('Squeeze', name, [step, this.#integers(name, [0])])
    }
    if (!takesLastOfBackward(layer)) return stepOf(x, -1)
    const { reversedFrom = 0 } = input
    const [forward, backward] = [this.#fresh(name), this.#fresh(name)]
    const sizes = this.#integers(name, [reversedFrom, featuresOf(input) - reversedFrom])
    this.node('Split', name, [x, sizes], [forward, backward], { axis: 2 })
    return this.node('Concat', name, [stepOf(forward, -1), stepOf(backward, 0)], undefined, { axis: 1 })
  }

  #activation(name: string, x: string, activation: unknown): string {
    if (activation === undefined || activation === 'linear') return x
    if (activation === 'softmax') return this.node('Softmax', name, [x], undefined, { axis: -1 })
    return this.node(entryOf(ACTIVATIONS, String(activation)), name, [x])
  }

  #bounded(name: string, x: string, maximum: unknown): string {
    if (typeof maximum !== 'number') return x
    return this.node('Min', name, [x, this.#initializer(`${name}_maximum`, this.#scalar(maximum))])
  }

  async #variable({ name, variables }: Layer, index: number): Promise<string> {
    const { data, shape } = await variables[index].value.read()
    return this.#initializer(name, { data: data.slice() as FloatArray, shape })
  }

  #scalar(value: number): Tensor<FloatArray> {
    const type = this.#elementType === 'float64' ? Float64Array : Float32Array
    return { data: type.of(value), shape: [1] }
  }

  #integers(name: string, values: readonly number[]): string {
    return this.#initializer(name, values)
  }

  #initializer(base: string, value: Tensor<FloatArray> | readonly number[]): string {
    const name = this.#fresh(base)
    this.initializers[name] = value
    return name
  }

  #fresh(base: string): string {
    return `${base}_${this.#count++}`
  }
}
