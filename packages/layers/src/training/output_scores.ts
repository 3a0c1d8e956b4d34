import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { GradientTape, Value } from '@cudnn-rnn/ops/executor'
import type { Layer } from '../layer.js'
import { GraphLayer } from '../model/graph_layer.js'
import type { ModelGraph } from '../model/model_graph.js'
import { isCtc, type OneLoss } from './losses.js'

/** Keras' bound: probabilities of 0 and 1 have finite scores. */
const SMALLEST = 1e-7

/**
 * An output as its cross-entropy reads it. The losses take scores, while the models of Keras end in probabilities: the scores of a
 * last `softmax` are ln p, of a last `sigmoid` ln p/(1-p).
 *
 * @param at number of the output
 */
export function outputScores(t: GradientTape, graph: ModelGraph, at: number, loss: OneLoss, output: Value): Value {
  const last = lastActivation(graph, at)
  if (last === 'softmax' && (isCtc(loss) || loss === 'softmax_cross_entropy')) {
    return t.log(t.maximum(output, SMALLEST))
  }
  if (last !== 'sigmoid' || loss !== 'sigmoid_cross_entropy') return output
  const p = t.minimum(t.maximum(output, SMALLEST), 1 - SMALLEST)
  return t.log(t.divide(p, t.subtract(1, p)))
}

/** The scores by which a beam search reads an output in host memory. */
export function hostScores(graph: ModelGraph, { data, shape }: Tensor<FloatArray>): Tensor<FloatArray> {
  if (lastActivation(graph, 0) !== 'softmax') return { data, shape }
  return { data: data.map((p) => Math.log(Math.max(p, SMALLEST))), shape }
}

/** The activation that computes an output, in a model within the model or at each step too; undefined for another layer. */
function lastActivation(graph: ModelGraph, at: number): unknown {
  const [source, part] = graph.outputs[at].value
  const layer: Layer | undefined = part === 0 ? graph.nodes[source - graph.inputs.length]?.layer : undefined
  if (layer instanceof GraphLayer) {
    const isWhole = layer.graph.outputs[0].signal.features === layer.output.features
    return isWhole ? lastActivation(layer.graph, 0) : undefined
  }
  return layer?.definition.config['activation']
}
