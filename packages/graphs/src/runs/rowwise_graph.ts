import { elementCount } from '@cudnn-rnn/canonical'
import { codedError } from '@cudnn-rnn/canonical/rules'
import type { GraphValue } from '../fold/fold_graph.js'
import type { GraphTensor, RuntimeSession, Tensors } from '../runtime.js'
import type { GraphRun } from './graph_run.js'

/** The rows of a graph whose batch is of any size, and each of whose rows is computed apart from the others. */
export interface RowwiseGraph {
  readonly inputs: BatchRows
  readonly states: BatchRows
  /** Outputs of float32 whose rows are side by side; a graph may have others, such as its version. */
  readonly outputs: BatchRows
}

/** Two ways to the sums of some thousand terms, of numbers around 1. */
const TOLERANCE = 1e-3

/**
 * Compares two rows that are computed apart with the same two computed together.
 *
 * @throws Error `ERR_GRAPH_BATCH_FIXED`, `ERR_GRAPH_OPEN_SIZE`, `ERR_GRAPH_UNSUPPORTED`, `ERR_GRAPH_NOT_ROWWISE`
 */
export async function rowwiseGraph(action: string, run: GraphRun): Promise<RowwiseGraph> {
  const inputs = run.inputs.map((value) => layoutOf(action, run, value))
  const states = run.stateValues.map((value) => layoutOf(action, run, value))
  const given = new BatchRows([...inputs, ...states])
  const rows = [0, 1].map((seed) => {
    return [Float32Array.from({ length: given.size }, (_, k) => Math.sin(1.7 * k + seed) / 2), 0] as const
  })
  const resultsOf = async (some: typeof rows) => {
    const tensors = given.tensors(run.session, some)
    const { results, states } = await run.step(tensors, tensors)
    return { ...results, ...states }
  }
  const apart = [await resultsOf(rows.slice(0, 1)), await resultsOf(rows.slice(1))]
  const together = await resultsOf(rows).catch((cause: unknown) => {
    // A constant of the file may hold the batch, although its inputs leave it open.
    const message = `Cannot ${action} as the graph must compute two rows together: ${run.path}`
    throw codedError('ERR_GRAPH_BATCH_FIXED', message, { cause })
  })
  const layouts = Object.entries(together).flatMap(([name, two]) => {
    const one = apart[0]?.[name]
    return one?.type === 'float32' ? (layoutOfRows(name, one, two) ?? []) : []
  })
  const made = new BatchRows(layouts)
  for (const [row, results] of apart.entries()) {
    const [alone, beside] = [made.copy(results, 0, 1), made.copy(together, row, 2)]
    const isSame = (element: number, at: number) =>
      Math.abs(element - (beside[at] ?? 0)) <= TOLERANCE * (1 + Math.abs(element))
    const wrong = alone.findIndex((element, at) => !isSame(element, at))
    if (wrong === -1) continue
    const output = made.layouts.findLast(({ offset }) => offset <= wrong)?.name
    const rule = `the output ${output} of a row must not depend on other rows`
    throw codedError('ERR_GRAPH_NOT_ROWWISE', `Cannot ${action} as ${rule}: ${run.path}`, { output })
  }
  const isState = new Set(states.map(({ name }) => name))
  const outputs = layouts.filter(({ name }) => !isState.has(name))
  if (outputs.length === 0) {
    const message = `Cannot ${action} as an output must be of float32, with a row for each row of the inputs: ${run.path}`
    throw codedError('ERR_GRAPH_UNSUPPORTED', message)
  }
  return { inputs: new BatchRows(inputs), states: new BatchRows(states), outputs: new BatchRows(outputs) }
}

function layoutOf(action: string, run: GraphRun, { name, type, shape }: GraphValue): RowLayout {
  const fail = (code: 'ERR_GRAPH_BATCH_FIXED' | 'ERR_GRAPH_OPEN_SIZE' | 'ERR_GRAPH_UNSUPPORTED', rule: string) =>
    codedError(code, `Cannot ${action} as ${name} (${type} [${shape}]) must ${rule}: ${run.path}`, { input: name })
  const axis = shape.findIndex((size) => run.isBatch(size))
  if (axis === -1) throw fail('ERR_GRAPH_BATCH_FIXED', 'have any number of rows')
  if (type !== 'float32') throw fail('ERR_GRAPH_UNSUPPORTED', 'be of float32')
  const sizes = shape.with(axis, 1).map((size) => {
    if (typeof size === 'number') return size
    throw fail('ERR_GRAPH_OPEN_SIZE', `have one size: fix ${size} by the option fixed`)
  })
  return { name, shape: sizes, axis }
}

/** A tensor of many rows: the sizes of one, and the axis on which they are side by side. */
interface RowLayout {
  readonly name: string
  /** With 1 at the axis of the batch. */
  readonly shape: readonly number[]
  readonly axis: number
}

/** Rows of several tensors of float32: in memory the elements of one row are together, tensor after tensor. */
class BatchRows {
  readonly layouts: readonly (RowLayout & { readonly offset: number; readonly size: number; readonly inner: number })[]
  /** Elements of a row. */
  readonly size: number

  constructor(layouts: readonly RowLayout[]) {
    let offset = 0
    this.layouts = layouts.map((layout) => {
      const [size, inner] = [elementCount(layout.shape), elementCount(layout.shape.slice(layout.axis + 1))]
      offset += size
      return { ...layout, size, inner, offset: offset - size }
    })
    this.size = offset
  }

  /** Tensors of the rows that begin at these places. */
  tensors(session: RuntimeSession, rows: readonly (readonly [Float32Array, begin: number])[]): Tensors {
    const tensors = this.layouts.map(({ name, shape, axis, size, inner, offset }) => {
      const batch = new Float32Array(size * rows.length)
      for (const [row, [elements, begin]] of rows.entries()) {
        for (let at = 0; at < size; at += inner) {
          const from = begin + offset + at
          batch.set(elements.subarray(from, from + inner), at * rows.length + row * inner)
        }
      }
      return [name, session.tensor('float32', batch, shape.with(axis, rows.length))] as const
    })
    return Object.fromEntries(tensors)
  }

  /** Copies row `row` of the `rows` of tensors to `elements`. */
  copy(
    tensors: Tensors,
    row: number,
    rows: number,
    elements: Float32Array = new Float32Array(this.size),
    begin = 0,
  ): Float32Array {
    for (const { name, size, inner, offset } of this.layouts) {
      const batch = tensors[name]?.data as Float32Array
      for (let at = 0; at < size; at += inner) {
        const from = at * rows + row * inner
        elements.set(batch.subarray(from, from + inner), begin + offset + at)
      }
    }
    return elements
  }
}

/** The layout of an output, of which `one` has one row and `two` has two; undefined where its rows are on no axis. */
function layoutOfRows(name: string, one: GraphTensor, two: GraphTensor): RowLayout | undefined {
  const [axis, ...others] = [...one.dims.keys()].filter((at) => one.dims[at] !== two.dims[at])
  const isBatch = axis !== undefined && others.length === 0 && one.dims[axis] === 1 && two.dims[axis] === 2
  return isBatch ? { name, shape: one.dims, axis } : undefined
}
