import { canonicalToOnnx, type FloatArray, numDirections } from '@cudnn-rnn/canonical'
import type { CellLayer } from '../kinds/cell_layer.js'
import { noExport } from '../export_error.js'
import { exportedNetwork } from '../exported_network.js'
import type { Layer } from '../layer.js'
import type { OnnxAttributes, OnnxGraph } from './onnx_graph.js'
import { onnxActivation, TYPES } from './onnx_operations.js'
import type { RecurrentLayer } from '../kinds/recurrent.js'
import type { MergeName } from '../kinds/merges.js'
import { featuresOf } from '../signal.js'
import type { Padding } from '../kinds/windows.js'

/** The nodes of a layer whose forward computes places on the host: a row of `LAYER_ROWS` names it. */
export type OnnxNodesOf = (graph: OnnxGraph, layer: Layer, x: string) => string | Promise<string>

const OPERATORS = { lstm: 'LSTM', gru: 'GRU', rnn_tanh: 'RNN', rnn_relu: 'RNN' } as const

/** Functions of cells that need no parameters in ONNX, by their names here. */
const FUNCTIONS: Readonly<Record<string, string>> = {
  ...{ tanh: 'Tanh', sigmoid: 'Sigmoid', relu: 'Relu', elu: 'Elu' },
  ...{ softplus: 'Softplus', softsign: 'Softsign', hard_sigmoid: 'HardSigmoid' },
}

/** A merge of values. */
export const ONNX_MERGES: Readonly<Record<MergeName, (graph: OnnxGraph, parts: readonly string[]) => string>> = {
  concat: (graph, parts) => graph.node('Concat', parts, { axis: -1 }),
  add: (graph, parts) => graph.node('Sum', parts),
  average: (graph, parts) => graph.node('Mean', parts),
  maximum: (graph, parts) => graph.node('Max', parts),
  minimum: (graph, parts) => graph.node('Min', parts),
  subtract: (graph, parts) => graph.node('Sub', parts),
  multiply: (graph, parts) => parts.reduce((a, b) => graph.node('Mul', [a, b])),
  select: (graph, [condition, ...parts]) => {
    return graph.node('Where', [graph.node('Cast', [condition], { to: TYPES.bool }), ...parts])
  },
  dot: (graph, parts) => graph.node('ReduceSum', [graph.node('Mul', parts), graph.integers(-1)]),
}

/**
 * The nodes of a network.
 *
 * @param states first states [batch,H] of each of its layers and directions in turn, h and then c; none are zeros
 * @returns its output, and final states behind it if they are read
 */
export async function onnxNetwork(
  graph: OnnxGraph,
  layer: RecurrentLayer | CellLayer,
  input: string,
  states: readonly string[],
  readsStates: boolean,
): Promise<string[]> {
  const network = await exportedNetwork('ONNX', layer)
  const { descriptor, canonical, activation, recurrentActivation, resetBefore } = network
  const { numUnits: H, cellMode } = descriptor
  const directions = numDirections(descriptor)
  const cells = { lstm: [recurrentActivation, activation, activation], gru: [recurrentActivation, activation] }
  const functions = cellMode === 'lstm' || cellMode === 'gru' ? cells[cellMode] : [activation]
  const named = functions.map((each) => {
    if (typeof each === 'string' && Object.hasOwn(FUNCTIONS, each)) return FUNCTIONS[each]
    throw noExport('ONNX', { ...layer, kind: `${layer.kind} of ${JSON.stringify(each)}` })
  })
  const kinds = cellMode === 'lstm' ? ['h', 'c'] : ['h']
  const count = directions * kinds.length
  const ends: string[] = []
  let x = input
  for (const [k, tensors] of canonicalToOnnx(descriptor, canonical).entries()) {
    const weights = ['W', 'R', 'B'].map((key) => graph.floats(tensors[key]))
    const given = states
      .slice(k * count, (k + 1) * count)
      .map((state) => graph.node('Unsqueeze', [state, graph.integers(0)]))
    // The states of each kind, which Concat joins to [D,B,H].
    const first = kinds.map((_, kind) => given.filter((_, at) => at % kinds.length === kind))
    const initial = given.length === 0 ? [] : ['', ...first.map((parts) => graph.node('Concat', parts, { axis: 0 }))]
    const finals = readsStates ? kinds.map(() => graph.fresh()) : []
    const y = graph.node(
      OPERATORS[cellMode],
      [x, ...weights, ...initial],
      {
        hidden_size: H,
        direction: directions === 2 ? 'bidirectional' : 'forward',
        activations: Array.from({ length: directions }, () => named).flat(),
        ...(cellMode === 'gru' && { linear_before_reset: Number(!resetBefore) }),
      },
      [graph.fresh(), ...finals],
    )
    for (let direction = 0; direction < directions && readsStates; direction++) {
      ends.push(
        ...finals.map((state) =>
          graph.node('Squeeze', [graph.sliced(state, 0, direction, direction + 1), graph.integers(0)]),
        ),
      )
    }
    // [T,D,B,H] to [T,B,D·H].
    x = graph.reshaped(graph.transposed(y, [0, 2, 1, 3]), 0, 0, directions * H)
  }
  return [x, ...ends]
}

export const onnxEmbedding: OnnxNodesOf = async (graph, { variables: [table], input, output }, x) => {
  const rows = await graph.variable(table)
  if (input.features === null) return graph.node('Gather', [rows, x])
  const found = graph.node('Gather', [rows, graph.node('Cast', [x], { to: TYPES.int32 })])
  return graph.reshaped(found, ...(input.isSequence ? [0, 0] : [0]), featuresOf(output))
}

export const onnxConvolution: OnnxNodesOf = async (graph, layer, x) => {
  const [kernel, bias] = layer.variables
  const { data, shape } = await kernel.value.read()
  // [time,(height,)C,O] to [O,C,time,height].
  const whole = shape.length === 3 ? [shape[0], 1, shape[1], shape[2]] : shape
  const turned = graph.transposed(graph.floats({ data: data.slice() as FloatArray, shape: whole }), [3, 2, 0, 1])
  const offset = await graph.variable(bias)
  const attributes = windowAttributes(layer, 'kernelSize')
  const { activation } = layer.definition.config
  return overPicture(
    graph,
    layer,
    x,
    (picture) => graph.node('Conv', [picture, turned, offset], attributes),
    (y) => onnxActivation(graph, y, activation),
  )
}

export function onnxPooling(operator: 'MaxPool' | 'AveragePool'): OnnxNodesOf {
  return (graph, layer, x) =>
    overPicture(graph, layer, x, (picture) => graph.node(operator, [picture], windowAttributes(layer, 'poolSize')))
}

/** Sizes of windows over [batch,C,time,height]. */
function windowAttributes({ definition: { config } }: Layer, size: string): OnnxAttributes {
  const pair = (value: unknown) => (Array.isArray(value) ? (value as number[]) : [Number(value), 1])
  const shape = pair(config[size])
  const given = config['padding']
  const padding =
    typeof given === 'number'
      ? { pads: [given, 0, given, 0] }
      : {
          valid: { pads: [0, 0, 0, 0] },
          same: { auto_pad: 'SAME_UPPER' },
          causal: { pads: [shape[0] - 1, 0, 0, 0] },
        }[given as Padding]
  return { kernel_shape: shape, strides: pair(config['strides']), ...padding }
}

/** x [time,batch,height·C] as [batch,C,time,height], and the result back. */
function overPicture(
  graph: OnnxGraph,
  { definition, input }: Layer,
  x: string,
  compute: (picture: string) => string,
  activated = (y: string): string => y,
): string {
  const height = Number(definition.config['height'] ?? 1)
  const parts = graph.reshaped(x, 0, 0, height, featuresOf(input) / height)
  const y = compute(graph.transposed(parts, [1, 3, 0, 2]))
  return graph.reshaped(activated(graph.transposed(y, [2, 0, 3, 1])), 0, 0, -1)
}

export const onnxSpreadSteps: OnnxNodesOf = (graph, { definition: { config } }, x) => {
  const [repeats, croppedBefore, croppedAfter, zerosBefore, zerosAfter] = [
    ...['repeats', 'croppedBefore', 'croppedAfter', 'zerosBefore', 'zerosAfter'],
  ].map((option) => (config[option] as number | undefined) ?? 0)
  let y = x
  if (croppedBefore > 0) y = graph.sliced(y, 0, croppedBefore, 2 ** 31 - 1)
  if (croppedAfter > 0) y = graph.sliced(y, 0, 0, -croppedAfter)
  if (repeats > 1) {
    // [T,B,E] to [B,E,T,1], whose last axis is repeated.
    const steps = graph.node('Unsqueeze', [graph.transposed(y, [1, 2, 0]), graph.integers(3)])
    const repeated =
      config['isSpaced'] === true
        ? graph.node('Pad', [steps, graph.integers(0, 0, 0, 0, 0, 0, 0, repeats - 1)])
        : graph.node('Expand', [steps, graph.integers(1, 1, 1, repeats)])
    y = graph.transposed(graph.reshaped(repeated, 0, 0, -1), [2, 0, 1])
  }
  if (zerosBefore + zerosAfter === 0) return y
  return graph.node('Pad', [y, graph.integers(zerosBefore, 0, 0, zerosAfter, 0, 0)])
}
