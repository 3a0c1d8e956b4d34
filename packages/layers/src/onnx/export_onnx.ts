import { encodeOnnxModel } from '@cudnn-rnn/interop'
import { BranchLayer } from '../kinds/branch_layer.js'
import { noExport } from '../export_error.js'
import { isRecurrent } from '../exported_network.js'
import type { Layer } from '../layer.js'
import { LAYER_TABLE } from '../layer_table.js'
import { OnnxGraph } from './onnx_graph.js'
import { ONNX_MERGES, onnxNetwork } from './onnx_layers.js'
import { tracedNodes } from './onnx_trace.js'
import { networkOrder } from '../kinds/cell_layer.js'
import type { MergeName } from '../kinds/merges.js'
import type { ModelGraph, Ref } from '../model/model_graph.js'
import { featuresOf, type Signal } from '../signal.js'
import { SequencesLayer, TimeDistributedLayer } from '../kinds/time_distributed.js'
import type { WholeModel } from '../model/whole_model.js'

/** An operator set of ONNX Runtime 1.6 and later, and its file version. */
const OPSET = 14
const IR_VERSION = 7

/**
 * A model as an ONNX file that any runtime runs, time-major as here: of a chain with input `input` [time,batch,I] (`ids` int64 of
 * class ids) and output `output`, of another model with the names of its inputs and outputs. All steps count; there are no sequence
 * lengths. The nodes of a layer follow from its forward.
 *
 * @throws RangeError `ERR_NO_EXPORT`, naming the layer that ONNX has no counterpart of
 */
export async function encodeOnnx({ executor, graph: model }: WholeModel): Promise<Uint8Array> {
  const { dtype } = executor
  const { inputs, outputs, isChain } = model
  const names = inputs.map(({ name, signal }) => (isChain && signal.features === null ? 'ids' : name))
  const ofInputs = new Set(names)
  const both = outputs.find(({ name }) => ofInputs.has(name))
  if (both !== undefined) throw noExport('ONNX', { name: both.name, kind: 'an input and an output of one name' })
  const graph = new OnnxGraph(dtype, [...names, ...outputs.map(({ name }) => name)])
  const written = async (own: ModelGraph, given: readonly string[]): Promise<string[]> => {
    const values: (readonly string[])[] = given.map((x) => [x])
    const nameOf = ([source, part]: Ref) => values[source][part]
    for (const [at, { name, layer, merge, from, states }] of own.nodes.entries()) {
      graph.enter(name)
      const operands = from.map(nameOf)
      values.push(
        layer === undefined
          ? [ONNX_MERGES[merge as MergeName](graph, operands)]
          : await nodesOf(layer, operands, states.map(nameOf), own.readsStates[at]),
      )
    }
    return own.outputs.map(({ value }) => nameOf(value))
  }
  const nodesOf = async (
    layer: Layer,
    operands: readonly string[],
    states: readonly string[],
    readsStates: boolean,
  ): Promise<readonly string[]> => {
    const { name, kind, definition } = layer
    const [x] = operands as [string]
    graph.enter(name)
    if (isRecurrent(layer)) {
      const [y, ...ends] = await onnxNetwork(graph, layer, x, networkOrder(definition, states), readsStates)
      return [y, ...networkOrder(definition, ends)]
    }
    if (layer instanceof TimeDistributedLayer) {
      const { inner, height } = layer
      if (height === 1) return nodesOf(inner, operands, states, readsStates)
      const [y] = await nodesOf(inner, [graph.reshaped(x, 0, -1, featuresOf(inner.input))], [], false)
      return [graph.reshaped(y, 0, -1, featuresOf(layer.output))]
    }
    if (layer instanceof BranchLayer) return written(layer.graph, [x])
    if (layer instanceof SequencesLayer) {
      const { steps, graph: inner, input, output } = layer
      const rows = graph.transposed(graph.reshaped(x, -1, steps, featuresOf(input) / steps), [1, 0, 2])
      const [y] = await written(inner, [rows])
      graph.enter(name)
      const byStep = inner.outputs[0].signal.isSequence ? graph.transposed(y, [1, 0, 2]) : y
      const leading = graph.sliced(graph.node('Shape', [x]), 0, 0, 2)
      const shape = graph.node('Concat', [leading, graph.integers(featuresOf(output))], { axis: 0 })
      return [graph.node('Reshape', [byStep, shape])]
    }
    if (definition.config['maskZero'] !== undefined) throw noExport('ONNX', { name, kind: `${kind} with maskZero` })
    const own = LAYER_TABLE.get(kind)?.onnx
    const y = await (own?.(graph, layer, x) ?? tracedNodes(graph, executor, layer, operands))
    if (y === undefined || readsStates || states.length > 0) throw noExport('ONNX', layer)
    return [y]
  }
  const last = await written(model, names)
  graph.enter('model')
  for (const [k, { name }] of outputs.entries()) graph.node('Identity', [last[k]], {}, [name])
  const described = (name: string, { isSequence, features }: Signal) => {
    const leading = [...(isSequence ? [isChain ? 'time' : `${name}_time`] : []), 'batch']
    return features === null
      ? ({ name, elementType: 'int64', shape: leading } as const)
      : { name, elementType: dtype, shape: [...leading, features] }
  }
  return encodeOnnxModel(
    {
      name: 'model',
      nodes: graph.nodes,
      initializers: graph.initializers,
      inputs: inputs.map(({ signal }, k) => described(names[k], signal)),
      outputs: outputs.map(({ name, signal }) => described(name, signal)),
    },
    IR_VERSION,
    OPSET,
  )
}
