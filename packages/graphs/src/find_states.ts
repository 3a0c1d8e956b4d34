import { isRecurrent } from '@cudnn-rnn/interop/internal'
import { codedError, codedRangeError } from './coded_error.js'
import type { FoldedGraph, GraphValue } from './fold/fold_graph.js'
import { type GraphNode, NodeReader, newNode } from './fold/graph_node.js'
import { sizesAt } from './fold/known_value.js'
import { OTHER_SIZES, type Size } from './fold/open_sizes.js'

/** A state of a graph: an input that takes the value of an output in the call before. */
export interface GraphState {
  readonly input: string
  readonly output: string
  readonly type: string
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
  /** Why a stream is not possible although nothing is ambiguous: a node that reads the whole sequence. */
  readonly wholeSequence: string | undefined
}

/** Operators that move elements and change none. */
const MOVES = new Set('Squeeze Unsqueeze Concat Slice Gather Transpose Reshape Split Cast Identity Flatten'.split(' '))
/** Words in the names of states. */
const STATE =
  /state|cache|hidden|hid|memor|recur|carry|past|ctx|context|buffer|^[hc](_?\d+|_?n|_?in|_?0)?$|(^|[_.])[hc][nt]?$/i

/** Recurrent nodes' states by the places of inputs and outputs. */
const SLOTS = [
  { input: 5, output: 1, word: 'h' },
  { input: 6, output: 2, word: 'c' },
] as const

/** Throws Error `ERR_GRAPH_STATE` for a choice that the graph does not have. */
export function findStates(graph: FoldedGraph, choice: StateChoice): StatefulGraph {
  if (choice === 'none') return { graph, states: [], candidates: [], wholeSequence: undefined }
  if (choice !== 'auto') return givenStates(graph, choice)
  const paired = pairedStates(graph)
  const exposing = graph.nodes.filter((node) => isTemporal(graph, node) && startsFromZeros(graph, node))
  const found = exposed(graph, exposing, paired.states)
  const whole = graph.nodes.find(
    (node) => isRecurrent(node) && !isForward(graph, node) && timeOf(graph, node) === 'open',
  )
  const isOpen = found.states.length === 0
  return {
    ...found,
    candidates: isOpen ? paired.candidates : [],
    wholeSequence: whole && `its node ${whole.name} reads the sequence from its end`,
  }
}

function givenStates(graph: FoldedGraph, choice: Readonly<Record<string, string>>): StatefulGraph {
  const states: GraphState[] = []
  const nodes: GraphNode[] = []
  for (const [from, to] of Object.entries(choice)) {
    const input = graph.inputs.find(({ name }) => name === from)
    const output = graph.outputs.find(({ name }) => name === to)
    const node = graph.nodes.find((each) => isRecurrent(each) && each.name === from)
    if (to === 'exposed' && node !== undefined && startsFromZeros(graph, node)) nodes.push(node)
    else if (input !== undefined && output !== undefined && fits(input, output))
      states.push(stateOf(input, output, 'given'))
    else {
      const inputs = graph.inputs.map(({ name, shape }) => `${name} [${shape}]`).join(', ')
      const outputs = graph.outputs.map(({ name, shape }) => `${name} [${shape}]`).join(', ')
      throw codedRangeError(
        'ERR_GRAPH_STATE',
        `Cannot open a graph as states must name an input and an output of one shape, or a recurrent node that starts from zeros: current value is ${from}: ${to}. Inputs: ${inputs}. Outputs: ${outputs}`,
        { option: 'states', input: from, output: to },
      )
    }
  }
  return { ...exposed(graph, nodes, states), candidates: [], wholeSequence: undefined }
}

function stateOf(input: GraphValue, output: GraphValue, found: GraphState['found']): GraphState {
  return { input: input.name, output: output.name, type: input.type, shape: input.shape, found }
}

/** Inputs and outputs that are the two ends of a state: by structure, then by names. */
function pairedStates(graph: FoldedGraph): { states: GraphState[]; candidates: string[] } {
  const ends = stateEnds(graph)
  const states: GraphState[] = []
  const [takenInputs, takenOutputs] = [new Set<GraphValue>(), new Set<GraphValue>()]
  const take = (input: GraphValue, output: GraphValue, found: 'structure' | 'names') => {
    states.push(stateOf(input, output, found))
    takenInputs.add(input)
    takenOutputs.add(output)
  }
  for (const input of graph.inputs) {
    const slots = ends.inputs.get(input.name)
    const same = graph.outputs.filter(({ name }) => slots !== undefined && ends.outputs.get(name) === slots)
    const [output, ...others] = same
    if (output !== undefined && others.length === 0 && fits(input, output)) take(input, output, 'structure')
  }
  const inputs = graph.inputs.filter((input) => !takenInputs.has(input))
  const outputs = graph.outputs.filter((output) => !takenOutputs.has(output))
  // Of two inputs whose names are in an output's, the longer one is meant: h and h_enc in h_enc_out.
  const namesake = (output: GraphValue) =>
    inputs
      .filter((input) => STATE.test(input.name) && containsName(output.name, input.name) && fits(input, output))
      .sort((a, b) => b.name.length - a.name.length)[0]
  const namesakes = outputs.map((output) => ({ output, input: namesake(output) }))
  const candidates: string[] = []
  for (const { output, input } of namesakes) {
    if (input === undefined) continue
    const isOnly = namesakes.filter((each) => each.input === input).length === 1
    if (isOnly) take(input, output, 'names')
    else candidates.push(`${input.name}: ${output.name}`)
  }
  for (const input of inputs) {
    const alike = outputs.filter((output) => !takenOutputs.has(output) && fits(input, output))
    if (!takenInputs.has(input)) candidates.push(...alike.map(({ name }) => `${input.name}: ${name}`))
  }
  const isAStream = states.length < graph.inputs.length
  return { states: isAStream ? states : [], candidates: [...new Set(candidates)] }
}

function containsName(output: string, input: string): boolean {
  const [inside, whole] = [input.toLowerCase(), output.toLowerCase()]
  const at = whole.indexOf(inside)
  if (at === -1) return false
  // A short name is a word of the output's name.
  return inside.length > 2 || !/[a-z]/.test(`${whole[at - 1] ?? ''}`)
}

/** Whether an output can be fed to an input: of one type and shape, as far as both are known. */
function fits(input: GraphValue, output: GraphValue): boolean {
  if (input.type !== output.type || input.shape.length !== output.shape.length) return false
  return input.shape.every((size, axis) => {
    const other = output.shape[axis]
    return size === other || typeof size === 'string' || typeof other === 'string'
  })
}

/** The states of recurrent nodes that inputs and outputs are made of through moves alone, as text. */
function stateEnds({ nodes, inputs, outputs, known }: FoldedGraph) {
  const forward = new Map(inputs.map(({ name }) => [name, new Set([name])]))
  const slots = new Map<string, Set<string>>()
  const backward = new Map<string, Set<string>>()
  for (const node of nodes) {
    const key = node.outputs.find((output) => output !== '') ?? node.name
    if (isRecurrent(node)) {
      for (const { input, output, word } of SLOTS) {
        for (const source of forward.get(node.inputs[input] ?? '') ?? []) {
          slots.set(source, (slots.get(source) ?? new Set()).add(`${key}.${word}`))
        }
        const made = node.outputs[output]
        if (made !== undefined && made !== '') backward.set(made, new Set([`${key}.${word}`]))
      }
    }
    if (!isMove({ known }, node)) continue
    for (const ends of [forward, backward]) {
      const together = new Set(node.inputs.flatMap((name) => [...(ends.get(name) ?? [])]))
      // Sets of a graph with thousands of states would be passed on by each of its nodes.
      if (together.size > 0 && together.size <= MOST_ENDS) for (const output of node.outputs) ends.set(output, together)
    }
  }
  const text = (names: ReadonlySet<string> | undefined) => names && [...names].sort().join(' ')
  return {
    inputs: new Map([...slots].map(([name, set]) => [name, text(set)])),
    outputs: new Map(outputs.map(({ name }) => [name, text(backward.get(name))])),
  }
}

const MOST_ENDS = 64

/** Whether a node moves elements and changes none. */
export function isMove({ known }: Pick<FoldedGraph, 'known'>, { opType, inputs }: GraphNode): boolean {
  return MOVES.has(opType) || (opType === 'Add' && inputs.some((name) => known.get(name)?.isZero))
}

function isForward({ file }: FoldedGraph, node: GraphNode): boolean {
  const reader = new NodeReader(node, file.bytes)
  return reader.text('direction', 'forward') === 'forward' && reader.integer('layout', 0) === 0
}

/** The sequence of a recurrent node: one step, the open sizes of a stream, or an axis that is not time. */
function timeOf({ known }: FoldedGraph, { inputs }: GraphNode): 'step' | 'open' | 'other' {
  const steps = sizesAt(known.get(inputs[0] ?? ''), 0)
  if (steps === undefined) return 'other'
  const [first] = steps
  if (steps.every((size) => size === first)) return first === 1 ? 'step' : 'other'
  const isOfBatch = steps[0] !== steps[1] || steps[1] !== steps[2]
  const [one, other] = OTHER_SIZES.map((index) => steps[index])
  return !isOfBatch && one !== other ? 'open' : 'other'
}

/** A node whose sequence is the stream's time, in its direction. */
function isTemporal(graph: FoldedGraph, node: GraphNode): boolean {
  return isRecurrent(node) && isForward(graph, node) && timeOf(graph, node) !== 'other'
}

/** The shape [1,B,H] of a node's state: B is a number, or an open size of the inputs. */
function stateShape({ known, sizes }: FoldedGraph, { inputs }: GraphNode): readonly Size[] | undefined {
  const rows = sizesAt(known.get(inputs[0] ?? ''), 1)
  const [first] = rows ?? []
  const batch = rows?.every((size) => size === first) ? first : sizes.nameOf(rows ?? [])
  const units = sizesAt(known.get(inputs[2] ?? ''), 2)?.[0]
  return batch === undefined || units === undefined ? undefined : [1, batch, units]
}

/** Whether a node has zeros as its state before each run, of a shape that follows from the inputs. */
function startsFromZeros(graph: FoldedGraph, node: GraphNode): boolean {
  if (stateShape(graph, node) === undefined) return false
  return SLOTS.slice(0, node.opType === 'LSTM' ? 2 : 1).every(({ input }) => {
    const name = node.inputs[input] ?? ''
    return name === '' || graph.known.get(name)?.isZero === true
  })
}

/** Makes inputs and outputs of the states of nodes. */
function exposed(
  graph: FoldedGraph,
  chosen: readonly GraphNode[],
  states: readonly GraphState[],
): Pick<StatefulGraph, 'graph' | 'states'> {
  const [inputs, outputs, all] = [[...graph.inputs], [...graph.outputs], [...states]]
  const isChosen = new Set(chosen)
  const isOutput = new Set(graph.outputs.map(({ name }) => name))
  const nodes = graph.nodes.flatMap((node, index) => {
    if (!isChosen.has(node)) return [node]
    const name = node.name || node.outputs[0] || `${node.opType}_${index}`
    const type = graph.known.get(node.inputs[0] ?? '')?.type ?? 'float32'
    const shape = stateShape(graph, node) ?? []
    const ends = { inputs: [...node.inputs], outputs: [...node.outputs] }
    const copies: GraphNode[] = []
    for (const { input, output, word } of SLOTS.slice(0, node.opType === 'LSTM' ? 2 : 1)) {
      const state = { name: `${name}/initial_${word}`, type, shape }
      while (ends.inputs.length <= input) ends.inputs.push('')
      while (ends.outputs.length <= output) ends.outputs.push('')
      ends.inputs[input] = state.name
      const own = ends.outputs[output] || `${name}/final_${word}`
      ends.outputs[output] = own
      // An output of the file stays in the results.
      const final = isOutput.has(own) ? `${name}/final_${word}` : own
      if (final !== own) copies.push(newNode('Identity', final, [own], [final]))
      inputs.push(state)
      outputs.push({ ...state, name: final })
      all.push({ ...stateOf(state, { ...state, name: final }, 'exposed'), node: name })
    }
    return [{ ...node, ...ends }, ...copies]
  })
  return { graph: { ...graph, nodes, inputs, outputs }, states: all }
}

/** Throws Error `ERR_GRAPH_STATES_AMBIGUOUS`, `ERR_GRAPH_NOT_STREAMING` where a graph has no states for a stream. */
export function checkStreams(path: string, { states, candidates, wholeSequence }: StatefulGraph): void {
  if (wholeSequence !== undefined) {
    throw codedError(
      'ERR_GRAPH_NOT_STREAMING',
      `Cannot stream as every node must read one step after the other: ${wholeSequence}: ${path}`,
    )
  }
  if (states.length > 0) return
  if (candidates.length > 0) {
    const words = candidates.join('; ')
    throw codedError(
      'ERR_GRAPH_STATES_AMBIGUOUS',
      `Cannot stream as the option states must name the pairs of an input and an output that are states. Candidates: ${words}: ${path}`,
      { candidates },
    )
  }
  const rule =
    'a graph must have a state: no output fits an input, and no recurrent node starts from zeros on an axis of time'
  throw codedError('ERR_GRAPH_NOT_STREAMING', `Cannot stream as ${rule}: ${path}`)
}
