import { copyRow, layoutOfRows, type RowLayout, rowLayout, rowsShape, sideBySide } from './batch_rows.js'
import { codedError } from './coded_error.js'
import type { GraphRun } from './graph_run.js'
import type { GraphTensor } from './runtime.js'

/** The rows of a graph whose batch is of any size, and each of whose rows is computed apart from the others. */
export interface RowwiseGraph {
  readonly inputs: readonly RowLayout[]
  readonly states: readonly RowLayout[]
  /** Outputs of float32 whose rows are side by side; a graph may have others, such as its version. */
  readonly outputs: readonly RowLayout[]
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
  const states = run.states.map(({ input, type, shape }) => layoutOf(action, run, { name: input, type, shape }))
  const given = [...inputs, ...states]
  const rows = [0, 1].map((seed) =>
    given.map(({ size }, index) => Float32Array.from({ length: size }, (_, k) => Math.sin(1.7 * k + seed + index) / 2)),
  )
  const resultsOf = async (some: readonly (readonly Float32Array[])[]) => {
    const tensors = given.map((layout, index) => {
      const batch = new Float32Array(layout.size * some.length)
      for (const [row, arrays] of some.entries())
        copyRow(layout, [batch, row, some.length], [arrays[index] ?? batch, 0], 'to batch')
      return [layout.name, run.session.tensor(layout.type, batch, rowsShape(layout, some.length))] as const
    })
    const fed = Object.fromEntries(tensors.slice(0, inputs.length))
    const { results, states } = await run.step(fed, Object.fromEntries(tensors.slice(inputs.length)))
    return { ...results, ...states }
  }
  const apart = [await resultsOf(rows.slice(0, 1)), await resultsOf(rows.slice(1))]
  const together = await resultsOf(rows).catch((cause: unknown) => {
    // A constant of the file may hold the batch, although its inputs leave it open.
    const message = `Cannot ${action} as the graph must compute two rows together: ${run.path}`
    throw codedError('ERR_GRAPH_BATCH_FIXED', message, { cause })
  })
  const layouts = Object.keys(together).flatMap((name) => {
    const [one, two] = [apart[0]?.[name], together[name]]
    return one?.type === 'float32' && two !== undefined ? (layoutOfRows(name, one, two) ?? []) : []
  })
  for (const layout of layouts) {
    for (const [row, results] of apart.entries()) {
      const elements = new Float32Array(layout.size)
      copyRow(layout, [floats(together[layout.name]), row, 2], [elements, 0], 'from batch')
      const alone = floats(results[layout.name])
      const isSame = elements.every(
        (element, at) => Math.abs(element - (alone[at] ?? 0)) <= TOLERANCE * (1 + Math.abs(element)),
      )
      if (isSame) continue
      const rule = `the output ${layout.name} of a row must not depend on other rows`
      throw codedError('ERR_GRAPH_NOT_ROWWISE', `Cannot ${action} as ${rule}: ${run.path}`, { output: layout.name })
    }
  }
  const isState = new Set(states.map(({ name }) => name))
  const outputs = layouts.filter(({ name }) => !isState.has(name))
  return { inputs: sideBySide(inputs), states: sideBySide(states), outputs: sideBySide(outputs) }
}

function layoutOf(
  action: string,
  run: GraphRun,
  { name, type, shape }: { readonly name: string; readonly type: string; readonly shape: readonly (number | string)[] },
): RowLayout {
  const words = `${name} (${type} [${shape}])`
  const fail = (code: 'ERR_GRAPH_BATCH_FIXED' | 'ERR_GRAPH_OPEN_SIZE' | 'ERR_GRAPH_UNSUPPORTED', rule: string) =>
    codedError(code, `Cannot ${action} as ${words} must ${rule}: ${run.path}`, { input: name })
  const axis = shape.findIndex((size) => typeof size === 'string' && run.isBatch(size))
  if (axis === -1) throw fail('ERR_GRAPH_BATCH_FIXED', 'have any number of rows')
  if (type !== 'float32') throw fail('ERR_GRAPH_UNSUPPORTED', 'be of float32')
  const sizes = shape.map((size, at) => (at === axis ? 1 : size))
  const open = sizes.find((size) => typeof size === 'string')
  if (open !== undefined) throw fail('ERR_GRAPH_OPEN_SIZE', `have one size: fix ${open} by the option fixed`)
  return rowLayout(name, type, sizes as number[], axis)
}

/** The elements of a tensor of float32. */
export function floats(tensor: GraphTensor | undefined): Float32Array {
  return tensor?.data as Float32Array
}
