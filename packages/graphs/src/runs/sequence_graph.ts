import { codedError } from '@cudnn-rnn/canonical/rules'
import type { OnnxNodeMessage } from '@cudnn-rnn/interop/internal'
import { isMove, type StatefulGraph } from '../find_states.js'
import { live } from '../fold/fold_graph.js'
import { newNode } from '../fold/graph_node.js'
import { sizesAt } from '../fold/known_value.js'
import { isRecurrentNode, recurrencesOf } from '../recurrences.js'

/** The input B [1] of a graph of whole sequences. */
export const BATCH = 'sequence/batch'

/**
 * A graph of one step as one of whole sequences: the rows of its inputs are the steps of a sequence, T·B of them, so that
 * every node but the recurrent ones computes all steps at once. A recurrent node reads its rows as a sequence [T,B,I] from the
 * states before it, and gives its output as rows again. State outputs are those after the last step.
 *
 * @throws Error `ERR_GRAPH_NOT_STREAMING` where a node beside the recurrent ones uses a state
 */
export async function sequenceGraph(stateful: StatefulGraph): Promise<StatefulGraph> {
  const { graph, states } = stateful
  const refuse = (rule: string) =>
    codedError('ERR_GRAPH_NOT_STREAMING', `Cannot compute a sequence at once as ${rule}: ${graph.file.path}`)
  const constants = new Map(graph.constants)
  const nodes: OnnxNodeMessage[] = []
  const isConstant = new Set(['', ...constants.keys()])
  /** Values that are made of states before the first step. */
  const initial = new Set(states.map(({ input }) => input))
  /** Values after the last step, by their names in the graph of one step. */
  const finals = new Map<string, string>()
  /** Outputs c, of which no step but the last is known. */
  const lost = new Set<string>()
  const sizes = (name: string, elements: readonly number[]) => {
    constants.set(name, { type: 'int64', shape: [elements.length], elements: Float64Array.from(elements) })
    return name
  }
  const recurrences = new Map(recurrencesOf(graph).map((each) => [each.node, each]))
  for (const node of graph.nodes) {
    if (node.opType === 'Constant') isConstant.add(node.outputs[0] ?? '')
    const recurrence = recurrences.get(node)
    const [, rows = '', H] = recurrence?.shapes?.[0] ?? []
    // It has the rows of the graph, in sequences of one step.
    const isOfRows = isRecurrentNode(node) && recurrence?.time === 'step' && graph.sizes.batch.has(String(rows))
    if (!isOfRows) {
      const fromStates = node.inputs.some((name) => initial.has(name))
      if (fromStates && !isMove(graph, node)) throw refuse(`the node ${node.name} uses a state beside recurrent nodes`)
      if (fromStates) for (const output of node.outputs) initial.add(output)
      nodes.push(node)
      const isFinal =
        node.inputs.some((name) => finals.has(name)) &&
        node.inputs.every((name) => finals.has(name) || isConstant.has(name))
      if (!isFinal || !isMove(graph, node)) continue
      const inputs = node.inputs.map((name) => finals.get(name) ?? name)
      for (const output of node.outputs) finals.set(output, `sequence/${output}/last`)
      nodes.push({
        ...node,
        name: `sequence/${node.name}`,
        inputs,
        outputs: node.outputs.map((output) => finals.get(output) ?? output),
      })
      continue
    }
    const [x = '', , , , lengths = ''] = node.inputs
    const [Y = '', Yh = '', Yc = ''] = node.outputs
    const I = sizesAt(graph.known.get(x), 2)?.[0]
    const before = recurrence.slots.map(({ input }) => node.inputs[input] ?? '')
    const isFromInputs = before.every((name) => name === '' || initial.has(name))
    if (
      I === undefined ||
      typeof H !== 'number' ||
      !isFromInputs ||
      lengths !== '' ||
      initial.has(x) ||
      !recurrence.isForward
    )
      throw refuse(`the node ${node.name} must read its states from inputs`)
    const own = (word: string) => `sequence/${node.name || Y || Yh}/${word}`
    // [-1,B,I] = B · [0,1,0] + [-1,0,I]
    nodes.push(
      newNode('Mul', own('rows'), [BATCH, sizes(own('second'), [0, 1, 0])], [own('rows')]),
      newNode('Add', own('shape'), [own('rows'), sizes(own('others'), [-1, 0, I])], [own('shape')]),
      newNode('Reshape', own('x'), [x, own('shape')], [own('x')]),
      {
        ...node,
        inputs: [own('x'), ...node.inputs.slice(1)],
        outputs: ['y', ...recurrence.slots.map(({ word }) => word)].map(own),
      },
    )
    if (Y !== '') nodes.push(newNode('Reshape', own('Y'), [own('y'), sizes(own('Y'), [1, 1, -1, H])], [Y]))
    if (Yh !== '') nodes.push(newNode('Reshape', own('Yh'), [own('y'), sizes(own('Yh'), [1, -1, H])], [Yh]))
    finals.set(Yh, own('h')).set(Yc, own('c')).delete('')
    if (Yc !== '') lost.add(Yc)
  }
  const lastStates = states.map((state) => ({ ...state, output: finals.get(state.output) ?? '' }))
  const passed = states.find(({ output }) => !finals.has(output))
  if (passed !== undefined) throw refuse(`a state must be made by recurrent nodes alone: ${passed.output}`)
  const inputs = [...graph.inputs, { name: BATCH, type: 'int64', shape: [1] } as const]
  const isState = new Set(states.map(({ output }) => output))
  const outputs = graph.outputs.map((value) => {
    const name = isState.has(value.name) ? finals.get(value.name) : value.name
    return { ...value, name: name ?? value.name }
  })
  const needed = live({ nodes, constants }, outputs)
  const reader = needed.nodes.find((node) => node.inputs.some((name) => lost.has(name)))
  const isRead = reader !== undefined || outputs.some(({ name }) => lost.has(name))
  if (isRead) throw refuse(`${reader?.name ?? 'an output'} reads the cell state of each step`)
  return { ...stateful, graph: { ...graph, ...needed, inputs, outputs }, states: lastStates }
}
