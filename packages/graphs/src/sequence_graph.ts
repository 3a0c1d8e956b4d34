import { isRecurrent } from '@cudnn-rnn/interop/internal'
import { codedError } from './coded_error.js'
import { isMove, type StatefulGraph } from './find_states.js'
import { type FoldedGraph, live } from './fold/fold_graph.js'
import { type GraphNode, NodeReader, newNode } from './fold/graph_node.js'
import { type Constant, sizesAt } from './fold/known_value.js'

/**
 * A graph of one step as one of whole sequences: the rows of its inputs are the steps of a sequence, T·B of them, so that
 * every node but the recurrent ones computes all steps at once. A recurrent node reads its rows as a sequence [T,B,I] from the
 * states before it, and gives its output as rows again. State outputs are those after the last step.
 *
 * @param batch B, which the shapes of recurrent nodes contain.
 * @throws Error `ERR_GRAPH_NOT_STREAMING` where a node beside the recurrent ones uses a state
 */
export function sequenceGraph({ graph, states }: StatefulGraph, batch: number): FoldedGraph {
  const refuse = (rule: string) =>
    codedError('ERR_GRAPH_NOT_STREAMING', `Cannot compute a sequence at once as ${rule}: ${graph.file.path}`)
  const stateInputs = new Set(states.map(({ input }) => input))
  const constants = new Map(graph.constants)
  const nodes: GraphNode[] = []
  /** Values of a recurrent node after its last step, by the name of the output in the graph of one step. */
  const finals = new Map<string, string>()
  /** Values that are made of states before the first step. */
  const initial = new Set(stateInputs)
  /** Outputs c, of which no step but the last is known. */
  const lost = new Set<string>()
  const reshaped = (from: string, to: string, shape: readonly number[]) => {
    const name = `sequence/${to}/shape`
    constants.set(name, { type: 'int64', shape: [shape.length], elements: Float64Array.from(shape) } satisfies Constant)
    nodes.push(newNode('Reshape', name, [from, name], [to]))
  }
  for (const node of graph.nodes) {
    if (!isRecurrent(node) || !isOfRows(graph, node)) {
      const fromStates = node.inputs.some((name) => initial.has(name))
      if (fromStates && !isMove(graph, node)) throw refuse(`the node ${node.name} uses a state beside recurrent nodes`)
      if (fromStates) for (const output of node.outputs) initial.add(output)
      nodes.push(node)
      continue
    }
    const [x = '', , R = '', , lengths = ''] = node.inputs
    const [Y = '', Yh = '', Yc = ''] = node.outputs
    const [I, H] = [sizesAt(graph.known.get(x), 2)?.[0], graph.known.get(R)?.cases[0]?.shape?.[2]]
    const fromSteps = node.inputs.slice(5).filter((name) => name !== '' && !initial.has(name))
    const isForward = new NodeReader(node, graph.file.bytes).text('direction', 'forward') === 'forward'
    if (I === undefined || H === undefined || fromSteps.length > 0 || lengths !== '' || initial.has(x) || !isForward)
      throw refuse(`the node ${node.name} must read its states from inputs`)
    const own = (word: string) => `sequence/${node.name || Y || Yh}/${word}`
    reshaped(x, own('x'), [-1, batch, I])
    const outputs = [own('y'), own('h'), ...(node.opType === 'LSTM' ? [own('c')] : [])]
    nodes.push({ ...node, inputs: [own('x'), ...node.inputs.slice(1)], outputs })
    if (Y !== '') reshaped(own('y'), Y, [1, 1, -1, H])
    if (Yh !== '') reshaped(own('y'), Yh, [1, -1, H])
    finals.set(Yh, own('h')).set(Yc, own('c'))
    if (Yc !== '') lost.add(Yc)
  }
  const outputs = graph.outputs.filter(({ name }) => states.every(({ output }) => output !== name))
  const stateOutputs = states.map(({ output }) => output)
  nodes.push(...movedStates(graph, stateOutputs, finals, refuse))
  const names = [...outputs.map(({ name }) => name), ...stateOutputs.map(finalName)]
  const needed = live({ nodes, constants }, names)
  const reader = needed.nodes.find(({ inputs }) => inputs.some((name) => lost.has(name)))
  if (reader !== undefined) throw refuse(`the node ${reader.name} reads the cell state of each step`)
  return {
    ...graph,
    ...needed,
    outputs: graph.outputs.map((value) =>
      stateOutputs.includes(value.name) ? { ...value, name: finalName(value.name) } : value,
    ),
  }
}

/** The name of a state output after the last step. */
export const finalName = (output: string) => `sequence/${output}/last`

/** Whether the rows of a recurrent node are those of the graph, in sequences of one step. */
function isOfRows({ known, sizes }: FoldedGraph, { inputs }: GraphNode): boolean {
  const [steps, rows] = [0, 1].map((axis) => sizesAt(known.get(inputs[0] ?? ''), axis))
  return steps?.every((size) => size === 1) === true && sizes.batch.has(sizes.nameOf(rows ?? []) ?? '')
}

/** Copies of the nodes between recurrent nodes and state outputs, which read the states after the last step. */
function movedStates(
  graph: FoldedGraph,
  stateOutputs: readonly string[],
  finals: ReadonlyMap<string, string>,
  refuse: (rule: string) => Error,
): GraphNode[] {
  const needed = new Set(stateOutputs)
  const copies: GraphNode[] = []
  const constants = new Set(graph.constants.keys())
  for (const { opType, outputs } of graph.nodes) if (opType === 'Constant') constants.add(outputs[0] ?? '')
  const renamed = (name: string) => finals.get(name) ?? (needed.has(name) ? finalName(name) : name)
  for (const node of graph.nodes.toReversed()) {
    const isNeeded = node.outputs.some((name) => needed.has(name) && !finals.has(name))
    if (!isNeeded) continue
    if (!isMove(graph, node)) throw refuse(`the node ${node.name} makes a state`)
    for (const name of node.inputs) if (name !== '' && !constants.has(name)) needed.add(name)
    copies.push(node)
  }
  const made = new Set(copies.flatMap(({ outputs }) => outputs))
  const passed = [...needed].find((name) => !made.has(name) && !finals.has(name))
  if (passed !== undefined) throw refuse(`a state must be made by recurrent nodes alone: ${passed}`)
  const direct = stateOutputs.flatMap((output) => {
    const from = finals.get(output)
    return from === undefined ? [] : [newNode('Identity', finalName(output), [from], [finalName(output)])]
  })
  const moved = copies.reverse().map((node) => {
    const [inputs, outputs] = [node.inputs.map(renamed), node.outputs.map(finalName)]
    return { ...node, name: finalName(node.name), inputs, outputs }
  })
  return [...moved, ...direct]
}
