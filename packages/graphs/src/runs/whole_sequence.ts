import { codedError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { GraphFeeds, GraphResults } from '../runtime.js'
import type { GraphRuns } from './graph_runs.js'
import type { RowwiseGraph } from './rowwise_graph.js'
import { BATCH } from './sequence_graph.js'

/**
 * Computes inputs [T,B,…] to outputs [T,B,…], `chunk` steps at once.
 *
 * @throws TypeError `ERR_GRAPH_INPUT`, `ERR_INVALID_ARGUMENT`; Error `ERR_GRAPH_UNSUPPORTED`, `ERR_GRAPH_NOT_STREAMING`
 */
export async function wholeSequence(
  runs: GraphRuns,
  { inputs, states, outputs }: RowwiseGraph,
  feeds: GraphFeeds,
  chunk: number,
): Promise<GraphResults> {
  const action = 'compute a sequence'
  const { path, inputs: values, session } = runs.general
  const late = [...inputs.layouts, ...outputs.layouts].find(({ axis }) => axis !== 0)
  if (late !== undefined) {
    const rule = `the rows of ${late.name} must be on its first axis: they are on axis ${late.axis}`
    throw codedError('ERR_GRAPH_UNSUPPORTED', `Cannot ${action} as ${rule}: ${path}`)
  }
  const given = values.map((value) => ({ ...value, shape: ['steps', ...value.shape] }))
  const fed = runs.general.fed(action, feeds, given)
  const [steps = 0, batch = 0] = fed[values[0]?.name ?? '']?.dims ?? []
  const other = Object.entries(fed).find(
    ([, { dims }]) => dims[0] !== steps || dims[1] !== batch || steps * batch === 0,
  )
  if (other !== undefined) {
    const [name, { dims }] = other
    const rule = `every input must have the same steps and rows, at least one: ${name} has the shape [${dims}]`
    throw codedTypeError('ERR_GRAPH_INPUT', `Cannot ${action} as ${rule}`, { input: name })
  }
  const sequence = await runs.sequence()
  const rows = session.tensor('int64', BigInt64Array.of(BigInt(batch)), [1])
  const zeros = new Float32Array(states.size)
  let before = states.tensors(
    session,
    Array.from({ length: batch }, () => [zeros, 0] as const),
  )
  const results = outputs.layouts.map((layout) => ({ ...layout, data: new Float32Array(steps * batch * layout.size) }))
  for (let from = 0; from < steps; from += chunk) {
    const [begin, count] = [from * batch, Math.min(chunk, steps - from) * batch]
    const part = inputs.layouts.map(({ name, shape, size }) => {
      const data = fed[name]?.data as Float32Array | undefined
      const own = data?.slice(begin * size, (begin + count) * size) ?? new Float32Array()
      return [name, session.tensor('float32', own, shape.with(0, count))] as const
    })
    const made = await sequence.step({ ...Object.fromEntries(part), [BATCH]: rows }, before)
    before = made.states
    for (const { name, size, data } of results) data.set(made.results[name]?.data as Float32Array, begin * size)
  }
  const tensors = results.map(({ name, shape, data }) => {
    return [name, session.tensor('float32', data, [steps, batch, ...shape.slice(1)])] as const
  })
  return Object.fromEntries(tensors)
}
