import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { Elements } from '@cudnn-rnn/interop/internal'
import { type FoldedGraph, live } from './fold/fold_graph.js'
import { withName } from './fold/graph_node.js'

/** The weights of a recurrent node by the places of its inputs. */
const INPUTS = ['', 'W', 'R', 'B']

/** A graph whose recurrent node of that name, or with an output of that name, has other weights. */
export function withWeights(
  graph: FoldedGraph,
  name: string,
  weights: Readonly<Record<string, Tensor<FloatArray>>>,
): FoldedGraph {
  const constants = new Map(graph.constants)
  const nodes = graph.nodes.map((node) => {
    if (node.name !== name && !node.outputs.includes(name)) return node
    let { inputs } = node
    for (const [key, { data, shape }] of Object.entries(weights)) {
      const own = `${name}/${key}`
      const type = data instanceof Float64Array ? 'float64' : 'float32'
      constants.set(own, { type, shape, elements: data as Elements })
      inputs = withName(inputs, INPUTS.indexOf(key), own)
    }
    return { ...node, inputs }
  })
  return { ...graph, ...live({ nodes, constants }, graph.outputs) }
}
