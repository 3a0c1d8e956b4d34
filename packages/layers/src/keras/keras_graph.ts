import { describeValue } from '@cudnn-rnn/canonical'
import type { Json } from '@cudnn-rnn/canonical/rules'

/** A layer of the file with its place there. */
export interface FileLayer {
  readonly className: string
  readonly config: Json
  /** `layers/dense_1`, where a file of Keras 3 keeps its variables. */
  readonly place: string
  /** The chains whose outputs a layer joins. */
  readonly branches?: readonly (readonly FileLayer[])[]
}

/** A layer of a functional model with the names of those whose outputs it takes; null if it takes something else. */
export interface GraphNode {
  readonly name: unknown
  readonly layer: FileLayer
  readonly sources: readonly unknown[] | null
}

/** Refuses a file that is made to be deep. */
const DEEPEST = 32

/**
 * The layers between the input and the output of a graph as one chain: a layer that joins several outputs has as `branches` the
 * chains from the last layer on that all of them depend on.
 *
 * @param refuse makes the error for a graph that has no such form
 */
export function chainOfNodes(
  nodes: readonly GraphNode[],
  output: unknown,
  refuse: (rule: string) => Error,
): readonly FileLayer[] {
  const byName = new Map(nodes.map((node) => [node.name, node]))
  const inputs = nodes.filter(({ sources }) => sources?.length === 0)
  if (inputs.length !== 1) throw refuse(`a functional model must have one input: current number is ${inputs.length}`)
  const places = dominators(inputs[0] as GraphNode, nodes, byName)
  // Layers without weights may be in several branches, where they are computed again.
  let left = 4 * nodes.length + 64
  const used = new Set([inputs[0]])
  const chainBetween = (from: unknown, to: unknown, depth: number): FileLayer[] => {
    const chain: FileLayer[] = []
    for (let at = to; at !== from; ) {
      const node = byName.get(at)
      const place = places.get(at)
      if (node === undefined || place === undefined || node.sources === null) throw refuseNode(node, refuse)
      if (depth > DEEPEST || left-- === 0) throw refuse(`its branches must not share branches, ${DEEPEST} deep`)
      used.add(node)
      const { sources, layer } = node
      if (sources.length === 0) throw refuseNode(node, refuse)
      const isJoin = sources.length > 1
      const branches = isJoin ? sources.map((source) => chainBetween(place.before, source, depth + 1)) : undefined
      chain.push(branches === undefined ? layer : { ...layer, branches })
      at = place.before
    }
    return chain.reverse()
  }
  const chain = chainBetween(inputs[0]?.name, output, 0)
  const unused = nodes.find((node) => !used.has(node))
  if (unused !== undefined) throw refuseNode(unused, refuse)
  return chain
}

interface Place {
  /** The last layer before it on which all of its input depends. */
  readonly before: unknown
  readonly depth: number
}

function dominators(input: GraphNode, nodes: readonly GraphNode[], byName: ReadonlyMap<unknown, GraphNode>) {
  const places = new Map<unknown, Place>([[input.name, { before: undefined, depth: 0 }]])
  const missing = new Map<unknown, number>()
  const users = new Map<unknown, GraphNode[]>()
  for (const node of nodes) {
    const sources = new Set(node.sources ?? [])
    missing.set(node.name, sources.size)
    for (const source of sources) {
      const known = users.get(source)
      if (known === undefined) users.set(source, [node])
      else known.push(node)
    }
  }
  const ready = [input.name]
  for (const name of ready) {
    for (const user of users.get(name) ?? []) {
      const left = (missing.get(user.name) ?? 0) - 1
      missing.set(user.name, left)
      if (left > 0 || byName.get(user.name) !== user) continue
      const before = (user.sources ?? []).reduce((a, b) => common(places, a, b))
      places.set(user.name, { before, depth: (places.get(before)?.depth ?? 0) + 1 })
      ready.push(user.name)
    }
  }
  return places
}

/** The last layer on which both depend. */
function common(places: ReadonlyMap<unknown, Place>, a: unknown, b: unknown): unknown {
  let [left, right] = [a, b]
  while (left !== right) {
    const [ofLeft, ofRight] = [places.get(left), places.get(right)]
    if (ofLeft === undefined || ofRight === undefined) return undefined
    if (ofLeft.depth >= ofRight.depth) left = ofLeft.before
    else right = ofRight.before
  }
  return left
}

function refuseNode(node: GraphNode | undefined, refuse: (rule: string) => Error): Error {
  const named = node === undefined ? 'its output' : `${describeValue(node.name)} (${node.layer.className})`
  return refuse(
    `a functional model must be a chain with branches: ${named} does not join branches, or is one, that lead from its input to its output. By hand: importWeights has its recurrent networks`,
  )
}
