import { rowsShape } from './batch_rows.js'
import { codedError, codedTypeError } from './coded_error.js'
import type { GraphRun } from './graph_run.js'
import type { RowwiseGraph } from './rowwise_graph.js'
import type { GraphData, GraphFeeds, GraphResults, GraphTensor } from './runtime.js'
import { finalName } from './sequence_graph.js'

type Tensors = Readonly<Record<string, GraphTensor>>
type Elements = Float32Array

/** A sequence that a caller gave. */
interface GivenSequence {
  readonly steps: number
  readonly batch: number
  readonly inputs: Readonly<Record<string, Elements>>
}

/** The inputs [T,B,…] of a sequence. Throws TypeError `ERR_GRAPH_INPUT`, `ERR_INVALID_ARGUMENT`. */
export function givenSequence(run: GraphRun, graph: RowwiseGraph, feeds: GraphFeeds): GivenSequence {
  const action = 'compute a sequence'
  const late = [...graph.inputs, ...graph.outputs].find(({ axis }) => axis !== 0)
  if (late !== undefined) {
    const rule = `the rows of ${late.name} must be on its first axis: they are on axis ${late.axis}`
    throw codedError('ERR_GRAPH_UNSUPPORTED', `Cannot ${action} as ${rule}: ${run.path}`)
  }
  const fed = run.sequenceFeeds(action, feeds)
  const [first] = graph.inputs
  const [steps = 0, batch = 0] = fed[first?.name ?? '']?.dims ?? []
  for (const { name } of graph.inputs) {
    const { dims = [] } = fed[name] ?? {}
    if (dims[0] === steps && dims[1] === batch && steps > 0 && batch > 0) continue
    throw codedTypeError(
      'ERR_GRAPH_INPUT',
      `Cannot ${action} as every input must have the same steps and rows, at least one: ${name} has the shape [${dims}]`,
      { input: name },
    )
  }
  const inputs = graph.inputs.map(({ name }) => [name, fed[name]?.data as Elements] as const)
  return { steps, batch, inputs: Object.fromEntries(inputs) }
}

/**
 * Computes the steps `from` to `to` at once.
 *
 * @param run of the graph of whole sequences.
 * @param outputs gets the results of the steps at their places.
 * @returns the states after the last step.
 */
export async function runSteps(
  run: GraphRun,
  graph: RowwiseGraph,
  { batch, inputs }: GivenSequence,
  [from, to]: readonly [from: number, to: number],
  states: Tensors,
  outputs: ReadonlyMap<string, Elements>,
): Promise<Tensors> {
  const rows = (to - from) * batch
  const fed = graph.inputs.map(({ name, type, shape, size }) => {
    const own = inputs[name]?.slice(from * batch * size, to * batch * size) as GraphData
    return [name, run.session.tensor(type, own, [rows, ...shape.slice(1)])] as const
  })
  const names = graph.outputs.map(({ name }) => name)
  const finals = run.states.map(({ output }) => finalName(output))
  const results = await run.session.run({ ...states, ...Object.fromEntries(fed) }, [...names, ...finals])
  for (const { name, size } of graph.outputs)
    outputs.get(name)?.set(results[name]?.data as Elements, from * batch * size)
  return Object.fromEntries(run.states.map(({ input }, index) => [input, results[finals[index] ?? ''] as GraphTensor]))
}

/** The states before the first step. */
export function zerosOf(run: GraphRun, { states }: RowwiseGraph, batch: number): Tensors {
  return Object.fromEntries(
    states.map((layout) => [layout.name, run.session.zeros(layout.type, rowsShape(layout, batch))]),
  )
}

/** Room for the outputs [T,B,…] of a sequence. */
export function outputsOf(graph: RowwiseGraph, { steps, batch }: GivenSequence): Map<string, Elements> {
  return new Map(graph.outputs.map(({ name, size }) => [name, new Float32Array(steps * batch * size)]))
}

/** Those outputs as tensors. */
export function sequenceResults(
  run: GraphRun,
  graph: RowwiseGraph,
  { steps, batch }: GivenSequence,
  outputs: ReadonlyMap<string, Elements>,
): GraphResults {
  const tensors = graph.outputs.map(({ name, type, shape, size }) => {
    const data = outputs.get(name) ?? new Float32Array(steps * batch * size)
    return [name, run.session.tensor(type, data, [steps, batch, ...shape.slice(1)])] as const
  })
  return Object.fromEntries(tensors)
}
