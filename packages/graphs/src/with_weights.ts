import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { Elements } from '@cudnn-rnn/interop/internal'
import { type FoldedGraph, live } from './fold/fold_graph.js'
import type { Constant } from './fold/known_value.js'

/** The weights of a recurrent node by the places of its inputs. */
const INPUTS = { W: 1, R: 2, B: 3 } as const

/** A graph whose recurrent node of that name, or with an output of that name, has other weights. */
export function withWeights(
  graph: FoldedGraph,
  name: string,
  weights: Readonly<Record<string, Tensor<FloatArray>>>,
): FoldedGraph {
  const constants = new Map(graph.constants)
  const nodes = graph.nodes.map((node) => {
    if (node.name !== name && !node.outputs.includes(name)) return node
    const inputs = [...node.inputs]
    for (const [key, place] of Object.entries(INPUTS)) {
      const tensor = weights[key]
      if (tensor === undefined) continue
      while (inputs.length <= place) inputs.push('')
      const own = `${name}/${key}`
      const type = tensor.data instanceof Float64Array ? 'float64' : 'float32'
      constants.set(own, { type, shape: tensor.shape, elements: tensor.data as Elements } satisfies Constant)
      inputs[place] = own
    }
    return { ...node, inputs }
  })
  const outputs = graph.outputs.map((output) => output.name)
  return { ...graph, ...live({ nodes, constants }, outputs) }
}
