import { isRecurrent, isStandard, type OnnxNodeMessage } from '@cudnn-rnn/interop/internal'
import type { FoldedGraph } from './fold/fold_graph.js'
import { NodeReader, QUANTIZED } from './fold/graph_node.js'
import { sizesAt } from './fold/known_value.js'
import { differsInOthers, type Size } from './fold/open_sizes.js'

/** A state by the places of its first value, an input, and of its last one, an output. */
interface Slot {
  readonly input: number
  readonly output: number
  readonly word: string
}

/** A node that computes a sequence step after step. */
export interface Recurrence {
  readonly node: OnnxNodeMessage
  readonly slots: readonly Slot[]
  /** Whether it reads the first step first. */
  readonly isForward: boolean
  /** Its sequence: one step, the open sizes of a stream, an axis that is not time, or one that is not known. */
  readonly time: 'step' | 'open' | 'other' | 'unknown'
  /** Its steps at each choice of the open sizes. */
  readonly steps: readonly number[] | undefined
  /** Whether each run starts from zeros. */
  readonly isFromZeros: boolean
  /** The shapes of its states: a size is a number, or an open size of the inputs. Undefined where one is not known. */
  readonly shapes: readonly (readonly Size[])[] | undefined
}

/** A recurrent operator, or its quantized form: its inputs and outputs are in the same places. */
export function isRecurrentNode(node: OnnxNodeMessage): boolean {
  return isRecurrent(node) || node.opType === QUANTIZED
}

/** The states of a node; none of one that is not recurrent. */
export function slotsOf(node: OnnxNodeMessage): readonly Slot[] {
  const { opType, inputs, attributes } = node
  if (isRecurrentNode(node)) {
    const words = opType === 'GRU' || opType === 'RNN' ? ['h'] : ['h', 'c']
    return words.map((word, at) => ({ input: 5 + at, output: 1 + at, word }))
  }
  // The first input of a Scan of opset 8 has the lengths, which are left out.
  const scanned = attributes.get('num_scan_inputs')?.i ?? inputs.length
  if (opType !== 'Scan' || !isStandard(node) || inputs[0] === '') return []
  const initial = inputs.slice(0, Math.max(0, inputs.length - scanned))
  return initial.map((_, at) => ({ input: at, output: at, word: `state_${at}` }))
}

/** The recurrent nodes of a graph in their order. */
export function recurrencesOf(graph: FoldedGraph): readonly Recurrence[] {
  return graph.nodes.flatMap((node) => {
    const slots = slotsOf(node)
    return slots.length === 0 ? [] : recurrenceOf(graph, node, slots)
  })
}

function recurrenceOf(graph: FoldedGraph, node: OnnxNodeMessage, slots: readonly Slot[]): Recurrence {
  const reader = new NodeReader(node, graph.file.bytes)
  const isScan = node.opType === 'Scan'
  const initial = slots.map(({ input }) => node.inputs[input] ?? '')
  const sequence = node.inputs[isScan ? slots.length : 0] ?? ''
  const [axis = 0] = reader.list('scan_input_axes') ?? []
  const directions = ['scan_input_directions', 'scan_output_directions'].flatMap((name) => reader.list(name) ?? [])
  const steps = sizesAt(graph.known.get(sequence), axis)
  // The matrix R has gates · units by units; transposed, if it is quantized.
  const sides = [1, 2].flatMap((side) => sizesAt(graph.known.get(node.inputs[2] ?? ''), side)?.[0] ?? [])
  const units = sides.length === 2 ? Math.min(...sides) : undefined
  return {
    node,
    slots,
    isForward:
      reader.text('direction', 'forward') === 'forward' &&
      reader.integer('layout', 0) === 0 &&
      directions.every((direction) => direction === 0),
    time: timeOf(steps),
    steps,
    isFromZeros: initial.every((name) => name === '' || graph.known.get(name)?.isZero === true),
    shapes: allKnown(
      initial.map((name) => (isScan ? shapeOf(graph, name) : allKnown([1, sizeOf(graph, sequence, 1), units]))),
    ),
  }
}

function timeOf(steps: readonly number[] | undefined): Recurrence['time'] {
  if (steps === undefined) return 'unknown'
  if (steps.every((size) => size === 1)) return 'step'
  const isOfBatch = steps[0] !== steps[1] || steps[1] !== steps[2]
  return !isOfBatch && differsInOthers(steps) ? 'open' : 'other'
}

function shapeOf(graph: FoldedGraph, name: string): readonly Size[] | undefined {
  const shape = graph.known.get(name)?.cases[0]?.shape
  return shape && allKnown(shape.map((_, axis) => sizeOf(graph, name, axis)))
}

function sizeOf({ known, sizes }: FoldedGraph, name: string, axis: number): Size | undefined {
  const all = sizesAt(known.get(name), axis) ?? []
  return all.every((size) => size === all[0]) ? all[0] : sizes.nameOf(all)
}

function allKnown<Value>(values: readonly (Value | undefined)[]): readonly Value[] | undefined {
  return values.every((value) => value !== undefined) ? values : undefined
}
