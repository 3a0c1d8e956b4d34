import { encodeOnnxModel } from '@cudnn-rnn/interop'
import { BranchLayer } from './branch_layer.js'
import { noExport } from './export_error.js'
import type { Layer } from './layer.js'
import { OnnxGraph } from './onnx_graph.js'
import {
  type OnnxNodesOf,
  onnxAveragePooling,
  onnxConvolution,
  onnxMaxPooling,
  onnxNetwork,
  onnxSpreadSteps,
} from './onnx_layers.js'
import { tracedNodes } from './onnx_trace.js'
import { RecurrentLayer } from './recurrent.js'
import { featuresOf } from './signal.js'
import { TimeDistributedLayer } from './time_distributed.js'
import type { WholeModel } from './whole_model.js'

/** An operator set of ONNX Runtime 1.6 and later, and its file version. */
const OPSET = 14
const IR_VERSION = 7

const JOINS: Readonly<Record<string, string>> = { add: 'Sum', multiply: 'Mul' }

const NODES: Readonly<Record<string, OnnxNodesOf>> = {
  conv1d: onnxConvolution,
  conv2d: onnxConvolution,
  maxPool1d: onnxMaxPooling,
  maxPool2d: onnxMaxPooling,
  averagePool1d: onnxAveragePooling,
  spreadSteps: onnxSpreadSteps,
  dropout: (_, _layer, x) => x,
  holdPadding: (_, _layer, x) => x,
}

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
    if (layer instanceof RecurrentLayer) return onnxNetwork(graph, layer, x)
    if (layer instanceof TimeDistributedLayer) return nodesOf(layer.inner, x)
    if (layer instanceof BranchLayer) {
      const parts: string[] = []
      for (const branch of layer.branches) parts.push(await chain(branch, x))
      return kind in JOINS ? graph.node(JOINS[kind], parts) : graph.node('Concat', parts, { axis: -1 })
    }
    if (definition.config['maskZero'] !== undefined) throw noExport('ONNX', { name, kind: `${kind} with maskZero` })
    const y = await (Object.hasOwn(NODES, kind) ? NODES[kind](graph, layer, x) : tracedNodes(graph, executor, layer, x))
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
