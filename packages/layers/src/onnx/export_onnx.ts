import { encodeOnnxModel } from '@cudnn-rnn/interop'
import { BranchLayer } from '../kinds/branch_layer.js'
import { noExport } from '../export_error.js'
import { isRecurrent } from '../exported_network.js'
import type { Layer } from '../layer.js'
import { LAYER_TABLE } from '../layer_table.js'
import { OnnxGraph } from './onnx_graph.js'
import { onnxNetwork } from './onnx_layers.js'
import { tracedNodes } from './onnx_trace.js'
import { featuresOf } from '../signal.js'
import { TimeDistributedLayer } from '../kinds/time_distributed.js'
import type { WholeModel } from '../model/whole_model.js'

/** An operator set of ONNX Runtime 1.6 and later, and its file version. */
const OPSET = 14
const IR_VERSION = 7

const JOINS = new Map([
  ['add', 'Sum'],
  ['multiply', 'Mul'],
])

/**
 * A model as an ONNX file that any runtime runs, time-major as here: input `input` [time,batch,I] (`ids` int64 of class ids),
 * output `output`. All steps count; there are no sequence lengths. The nodes of a layer follow from its forward.
 *
 * @throws RangeError `ERR_NO_EXPORT`, naming the layer that ONNX has no counterpart of
 */
export async function encodeOnnx({ input, output, executor, layers }: WholeModel): Promise<Uint8Array> {
  const { dtype } = executor
  const graph = new OnnxGraph(dtype)
  const isIds = input.features === null
  const first = isIds ? 'ids' : 'input'
  const chain = async (chained: readonly Layer[], from: string): Promise<string> => {
    let x = from
    for (const layer of chained) x = await nodesOf(layer, x)
    return x
  }
  const nodesOf = async (layer: Layer, x: string): Promise<string> => {
    const { name, kind, definition } = layer
    graph.layer = name
    if (isRecurrent(layer)) return onnxNetwork(graph, layer, x)
    if (layer instanceof TimeDistributedLayer) return nodesOf(layer.inner, x)
    if (layer instanceof BranchLayer) {
      const parts: string[] = []
      for (const branch of layer.branches) parts.push(await chain(branch, x))
      const join = JOINS.get(kind)
      return join === undefined ? graph.node('Concat', parts, { axis: -1 }) : graph.node(join, parts)
    }
    if (definition.config['maskZero'] !== undefined) throw noExport('ONNX', { name, kind: `${kind} with maskZero` })
    const own = LAYER_TABLE.get(kind)?.onnx
    const y = await (own?.(graph, layer, x) ?? tracedNodes(graph, executor, layer, x))
    if (y === undefined) throw noExport('ONNX', layer)
    return y
  }
  const last = await chain(layers, first)
  graph.node('Identity', [last], {}, ['output'])
  const leading = (isSequence: boolean) => (isSequence ? ['time', 'batch'] : ['batch'])
  return encodeOnnxModel(
    {
      name: 'model',
      nodes: graph.nodes,
      initializers: graph.initializers,
      inputs: [
        isIds
          ? { name: first, elementType: 'int64', shape: leading(input.isSequence) }
          : { name: first, elementType: dtype, shape: [...leading(input.isSequence), input.features] },
      ],
      outputs: [{ name: 'output', elementType: dtype, shape: [...leading(output.isSequence), featuresOf(output)] }],
    },
    IR_VERSION,
    OPSET,
  )
}
