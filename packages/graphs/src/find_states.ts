import { codedError, codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { OnnxNodeMessage } from '@cudnn-rnn/interop/internal'
import type { FoldedGraph, GraphValue } from './fold/fold_graph.js'
import { NodeReader, newNode, withName } from './fold/graph_node.js'
import { constantOf, sizesAt, UNKNOWN } from './fold/known_value.js'
import type { Size } from './fold/open_sizes.js'
import { type Recurrence, recurrencesOf, slotsOf } from './recurrences.js'

/** A state of a graph: an input that takes the value of an output in the call before. */
export interface GraphState {
  readonly input: string
  readonly output: string
  readonly type: GraphValue['type']
  readonly shape: readonly Size[]
  /**
   * How it was found: by the nodes between input and output, by their names, by the option `states`, or made, because a
   * recurrent node starts from zeros in each run.
   */
  readonly found: 'structure' | 'names' | 'given' | 'exposed'
  /** The recurrent node of an exposed state. */
  readonly node?: string
}

/** The states: found, none, or outputs by inputs; a recurrent node that is to get one has the value 'exposed'. */
export type StateChoice = 'auto' | 'none' | Readonly<Record<string, string>>

/** A graph with its states; those that were exposed are inputs and outputs of it. */
export interface StatefulGraph {
  readonly graph: FoldedGraph
  readonly states: readonly GraphState[]
  /** Pairs of an input and an output that might be states. */
  readonly candidates: readonly string[]
  /** The property that a stream needs and the graph lacks. */
  readonly obstacle: string | undefined
}

/** Operators that move elements and change none. */
const MOVES = new Set('Squeeze Unsqueeze Concat Slice Gather Transpose Reshape Split Cast Identity Flatten'.split(' '))
/** Words in the names of states. */
const STATE =
  /state|cache|hidden|hid|memor|recur|carry|past|ctx|context|buffer|(^|[_.])[hc][ntx]?(_?(\d+|n|in|prev|old))?$/i
/** Words that distinguish the two ends of a state. */
const ENDS =
  /(?<![a-z])(ins?|outs?|inputs?|outputs?|prev|previous|next|old|new|past|present|initial|final|last)(?![a-z])/g
/** Sets of a graph with thousands of states would be passed on by each of its nodes. */
const MOST_ENDS = 64

/** Throws Error `ERR_GRAPH_STATE` for a choice that the graph does not have. */
export function findStates(graph: FoldedGraph, choice: StateChoice): StatefulGraph {
  const closed = { candidates: [], obstacle: undefined }
  if (choice === 'none') return { graph, states: [], ...closed }
  const recurrences = recurrencesOf(graph)
  if (choice !== 'auto') return { ...givenStates(graph, recurrences, choice), ...closed }
  const { states, candidates } = pairedStates(graph)
  const forward = recurrences.filter(({ isForward }) => isForward)
  const fromZeros = forward.filter(({ isFromZeros, time }) => isFromZeros && time !== 'other')
  const isKnown = ({ time, shapes }: Recurrence) => time !== 'unknown' && shapes !== undefined
  const nodes = fromZeros.filter(isKnown)
  const found = exposed(graph, nodes, states)
  const backward = recurrences.find(({ isForward, time }) => !isForward && time === 'open')
  const unknown = fromZeros.find((each) => !isKnown(each))
  return {
    ...found,
    candidates: found.states.length === 0 ? candidates : [],
    obstacle:
      (backward && readsBackward(backward)) ??
      (unknown &&
        `the sizes of the sequence of its node ${unknown.node.name} must be known: fix open sizes by the option fixed`) ??
      overTime(graph, nodes),
  }
}

const readsBackward = ({ node }: Recurrence) =>
  `every node must read one step after the other: its node ${node.name} reads the sequence from its end`

/** Why a stream would not have the numbers of the whole sequence: a node that computes over the steps of a call. */
function overTime(graph: FoldedGraph, recurrences: readonly Recurrence[]): string | undefined {
  const open = recurrences.filter(({ time }) => time === 'open')
  const lengths = new Set(open.map(({ steps }) => String(steps)))
  const node = graph.nodes.find((each) => {
    const x = graph.known.get(each.inputs[0] ?? '')
    return joinedAxes(graph, each).some((axis) => lengths.has(String(sizesAt(x, axis))))
  })
  return (
    node &&
    `every node must read one step after the other: its node ${node.name} computes over all steps of a call. If a call has all steps that it needs, pass states: { ${exposing(open)} }`
  )
}

/** The axes along which a node computes one element, or elements that depend on each other. */
function joinedAxes({ known, file }: FoldedGraph, node: OnnxNodeMessage): readonly number[] {
  const reader = new NodeReader(node, file.bytes)
  const isReduction = reader.opType.startsWith('Reduce')
  const rank = known.get(node.inputs[0] ?? '')?.cases[0]?.shape?.length ?? 0
  if (rank === 0 || !(isReduction || /^(Log)?Softmax$/.test(reader.opType))) return []
  const given = reader.list('axes') ?? constantOf(known.get(node.inputs[1] ?? ''))?.elements
  const axes = isReduction ? Array.from(given ?? Array(rank).keys()) : [reader.integer('axis', -1)]
  return axes.map((axis) => (axis < 0 ? axis + rank : axis))
}

/** The option `states` that exposes nodes. */
const exposing = (recurrences: readonly Recurrence[]) =>
  recurrences.map(({ node }) => `'${node.name}': 'exposed'`).join(', ')

function givenStates(graph: FoldedGraph, recurrences: readonly Recurrence[], choice: Readonly<Record<string, string>>) {
  const states: GraphState[] = []
  const nodes: Recurrence[] = []
  for (const [from, to] of Object.entries(choice)) {
    const input = graph.inputs.find(({ name }) => name === from)
    const output = graph.outputs.find(({ name }) => name === to)
    const node = recurrences.find((each) => each.node.name === from)
    if (to === 'exposed' && node?.isFromZeros && node.shapes !== undefined) nodes.push(node)
    else if (input !== undefined && output !== undefined && fits(input, output))
      states.push(stateOf(input, output, 'given'))
    else {
      const words = (values: readonly GraphValue[]) => values.map(({ name, shape }) => `${name} [${shape}]`).join(', ')
      throw codedRangeError(
        'ERR_GRAPH_STATE',
        `Cannot open a graph as states must name an input and an output of one shape, or a recurrent node that starts from zeros: current value is ${from}: ${to}. Inputs: ${words(graph.inputs)}. Outputs: ${words(graph.outputs)}`,
        { option: 'states', input: from, output: to },
      )
    }
  }
  return exposed(graph, nodes, states)
}

function stateOf({ name, type, shape }: GraphValue, output: GraphValue, found: GraphState['found']): GraphState {
  return { input: name, output: output.name, type, shape, found }
}

type Pair = readonly [input: GraphValue, output: GraphValue]

/** Inputs and outputs that are the two ends of a state: by structure, then by names. */
function pairedStates(graph: FoldedGraph): Pick<StatefulGraph, 'states' | 'candidates'> {
  const states: GraphState[] = []
  let { inputs, outputs } = graph
  /** Takes the pairs that are the only one of their input and of their output; the others. */
  const take = (pairs: readonly Pair[], found: GraphState['found']) => {
    const counts = new Map<GraphValue, number>()
    for (const end of pairs.flat()) counts.set(end, (counts.get(end) ?? 0) + 1)
    const only = pairs.filter((pair) => fits(...pair) && pair.every((end) => counts.get(end) === 1))
    states.push(...only.map(([input, output]) => stateOf(input, output, found)))
    const taken = new Set(only.flat())
    inputs = inputs.filter((input) => !taken.has(input))
    outputs = outputs.filter((output) => !taken.has(output))
    return pairs.filter(([input]) => !taken.has(input))
  }
  const ends = stateEnds(graph)
  const pairsWhere = (isPair: (...pair: Pair) => boolean) =>
    inputs.flatMap((input) => outputs.filter((output) => isPair(input, output)).map((output): Pair => [input, output]))
  take(
    pairsWhere(({ name }, output) => ends.inputs.has(name) && ends.inputs.get(name) === ends.outputs.get(output.name)),
    'structure',
  )
  // If an output's name contains two inputs' names, the longer one is meant: h_enc, not h, in h_enc_out.
  const namesakes = outputs.flatMap((output): Pair[] => {
    const [input] = inputs
      .filter((each) => STATE.test(each.name) && isNamesake(output.name, each.name) && fits(each, output))
      .sort((a, b) => b.name.length - a.name.length)
    return input === undefined ? [] : [[input, output]]
  })
  const sharesSize = ({ shape }: GraphValue, output: GraphValue) =>
    shape.some((size, axis) => size === output.shape[axis])
  const alike = pairsWhere((...pair) => fits(...pair) && sharesSize(...pair))
  const candidates = [...take(namesakes, 'names'), ...alike].map(([input, output]) => `${input.name}: ${output.name}`)
  return { states: states.length < graph.inputs.length ? states : [], candidates: [...new Set(candidates)] }
}

/** Whether an output's name contains an input's, or is the same but for the words that distinguish the ends. */
function isNamesake(output: string, input: string): boolean {
  const [inside, whole] = [input.toLowerCase(), output.toLowerCase()]
  const at = whole.indexOf(inside)
  // A short name is a word of the output's name.
  if (at !== -1 && (inside.length > 2 || !/[a-z]/.test(`${whole[at - 1] ?? ''}`))) return true
  const stemOf = (name: string) =>
    name
      .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
      .toLowerCase()
      .replace(ENDS, '')
  const [from, to] = [input, output].map((name) =>
    stemOf(name)
      .replace(/[^a-z0-9]+/g, ' ')
      .trim(),
  )
  return from !== '' && from === to
}

/** Whether an output can be fed to an input: of one type and shape, as far as both are known. */
function fits(input: GraphValue, output: GraphValue): boolean {
  const isSame = (size: Size, other: Size | undefined) =>
    size === other || typeof size === 'string' || typeof other === 'string'
  return (
    input.type === output.type &&
    input.shape.length === output.shape.length &&
    input.shape.every((size, axis) => isSame(size, output.shape[axis]))
  )
}

/** The states of recurrent nodes that inputs and outputs are made of through moves alone, as text by their names. */
function stateEnds({ nodes, inputs, outputs, known }: FoldedGraph) {
  const forward = new Map(inputs.map(({ name }) => [name, new Set([name])]))
  const slots = new Map<string, Set<string>>()
  const backward = new Map<string, Set<string>>()
  for (const node of nodes) {
    const key = node.outputs.find((output) => output !== '') ?? node.name
    for (const { input, output, word } of slotsOf(node)) {
      for (const source of forward.get(node.inputs[input] ?? '') ?? [])
        slots.set(source, (slots.get(source) ?? new Set()).add(`${key}.${word}`))
      const made = node.outputs[output]
      if (made) backward.set(made, new Set([`${key}.${word}`]))
    }
    for (const ends of isMove({ known }, node) ? [forward, backward] : []) {
      const together = new Set(node.inputs.flatMap((name) => [...(ends.get(name) ?? [])]))
      if (together.size > 0 && together.size <= MOST_ENDS) for (const output of node.outputs) ends.set(output, together)
    }
  }
  const text = (names: Iterable<string> = []) => [...names].sort().join(' ')
  return {
    inputs: new Map([...slots].map(([name, set]) => [name, text(set)])),
    outputs: new Map(outputs.map(({ name }) => [name, text(backward.get(name))])),
  }
}

/** Whether a node moves elements and changes none. */
export function isMove({ known }: Pick<FoldedGraph, 'known'>, { opType, inputs }: OnnxNodeMessage): boolean {
  return MOVES.has(opType) || (opType === 'Add' && inputs.some((name) => known.get(name)?.isZero))
}

/** Makes inputs and outputs of the states of nodes. */
function exposed(graph: FoldedGraph, chosen: readonly Recurrence[], paired: readonly GraphState[]) {
  const [inputs, outputs, states] = [[...graph.inputs], [...graph.outputs], [...paired]]
  const recurrences = new Map(chosen.map((each) => [each.node, each]))
  const isOutput = new Set(graph.outputs.map(({ name }) => name))
  const nodes = graph.nodes.flatMap((node, index) => {
    const recurrence = recurrences.get(node)
    if (recurrence === undefined) return [node]
    const name = node.name || node.outputs[0] || `${node.opType}_${index}`
    let made = node
    const copies: OnnxNodeMessage[] = []
    for (const [at, { input, output, word }] of recurrence.slots.entries()) {
      const { type } = graph.known.get(node.inputs[input] || node.inputs[0] || '') ?? UNKNOWN
      const shape = recurrence.shapes?.[at] ?? []
      const state = { name: `${name}/initial_${word}`, type, shape }
      const own = node.outputs[output] || `${name}/final_${word}`
      made = { ...made, inputs: withName(made.inputs, input, state.name), outputs: withName(made.outputs, output, own) }
      // An output of the file stays in the results.
      const final = isOutput.has(own) ? `${name}/final_${word}` : own
      if (final !== own) copies.push(newNode('Identity', final, [own], [final]))
      inputs.push(state)
      outputs.push({ ...state, name: final })
      states.push({ ...stateOf(state, { ...state, name: final }, 'exposed'), node: name })
    }
    return [made, ...copies]
  })
  return { graph: { ...graph, nodes, inputs, outputs }, states }
}

/** Throws Error `ERR_GRAPH_STATES_AMBIGUOUS`, `ERR_GRAPH_NOT_STREAMING` where a graph has no states for a stream. */
export function checkStreams({ graph, states, candidates, obstacle }: StatefulGraph): void {
  if (states.length > 0 && obstacle === undefined) return
  const isAmbiguous = obstacle === undefined && candidates.length > 0
  const rule = isAmbiguous
    ? `the option states must name the pairs of an input and an output that are states. Candidates: ${candidates.join('; ')}`
    : (obstacle ?? withoutStates(graph))
  const code = isAmbiguous ? 'ERR_GRAPH_STATES_AMBIGUOUS' : 'ERR_GRAPH_NOT_STREAMING'
  throw codedError(code, `Cannot stream as ${rule}: ${graph.file.path}`, isAmbiguous ? { candidates } : {})
}

/** Why a graph has no state, and the way to one. */
function withoutStates(graph: FoldedGraph): string {
  const recurrences = recurrencesOf(graph)
  const backward = recurrences.find(({ isForward }) => !isForward)
  if (backward !== undefined) return readsBackward(backward)
  const fixed = recurrences.filter(({ node, isFromZeros, shapes }) => node.name !== '' && isFromZeros && shapes)
  const loop = graph.nodes.find(({ opType }) => opType === 'Loop' || opType === 'Scan')
  const opening = `. If the axis of its node ${fixed[0]?.node.name} is time, pass states: { ${exposing(fixed)} }`
  const cutting = `. Its node ${loop?.name} keeps its values within a run: export one step, with them as inputs and outputs`
  const way = fixed.length > 0 ? opening : loop ? cutting : ''
  return `a graph must have a state: no output fits an input, and no recurrent node starts from zeros on an axis of time${way}`
}
