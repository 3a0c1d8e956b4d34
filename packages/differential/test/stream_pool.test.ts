import type { Backend, RnnStreamState } from '@cudnn-rnn/ops'
import type { Tensor } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { CudnnGRU, CudnnLSTM, type RecurrentModel, type Stream } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { testedExecutors } from '../src/executors.js'
import type { Program } from '../src/program.js'

/** Runs of a test run; `CUDNN_RNN_POOL_SCHEDULES` sets their number, `CUDNN_RNN_POOL_SEED` their seed. */
const { CUDNN_RNN_POOL_SCHEDULES: asked, CUDNN_RNN_POOL_SEED: seed = '20261122' } = process.env

const SIZES = { numLayers: 2, numUnits: 20, inputSize: 3 }
const STREAMS = 6

type Call =
  | { readonly op: 'step'; readonly stream: number; readonly time: number }
  | { readonly op: 'reset' | 'state' | 'restore' | 'reopen'; readonly stream: number }
  | { readonly op: 'turn' }

const stream = fc.nat(STREAMS - 1)
const schedules = fc.array(
  fc.oneof(
    // Time 0: one frame [I]; otherwise [T,I].
    { weight: 8, arbitrary: fc.record({ op: fc.constant('step' as const), stream, time: fc.nat(4) }) },
    {
      weight: 3,
      arbitrary: fc.record({ op: fc.constantFrom('reset', 'state', 'restore', 'reopen'), stream }),
    },
    { weight: 3, arbitrary: fc.constant({ op: 'turn' as const }) },
  ),
  { minLength: 1, maxLength: 60 },
) as fc.Arbitrary<Call[]>

const options = fc.record({ maxDelayMs: fc.constantFrom(0, 1), maxBatch: fc.constantFrom(1, 4, STREAMS) })

interface ExecutorCase {
  readonly name: string
  readonly runs: number
  open(): Promise<Backend>
  inspect?(backend: Backend): Promise<void>
}

const cases: ExecutorCase[] = [
  { name: 'reference', runs: 30, open: async () => openReferenceBackend() },
  { name: 'reference float64', runs: 10, open: async () => openReferenceBackend({ dtype: 'float64' }) },
]
for (const { name, open, inspect } of testedExecutors().found) {
  const onCpu = name.startsWith('cpu')
  const program = { dtype: 'float32', threads: 2 } as Program
  cases.push({ name, runs: onCpu ? 30 : 8, open: () => open(program), ...(inspect && { inspect }) })
  if (!onCpu) continue
  cases.push({ name: `${name} float64`, runs: 10, open: () => open({ ...program, dtype: 'float64' }) })
}
if (cases.some(({ name }) => name.startsWith('cpu'))) {
  for (const weights of ['bfloat16', 'int8'] as const) {
    cases.push({ name: `cpu ${weights}`, runs: 30, open: async () => openCpuBackend({ weights, threads: 2 }) })
  }
}

/** Sends a schedule to a pool without awaiting, and the same calls to separate streams one by one. */
async function runSchedule(backend: Backend, calls: readonly Call[], poolOptions: object): Promise<void> {
  const isGru = calls.length % 3 === 0
  const model: RecurrentModel = isGru ? new CudnnGRU(backend, SIZES) : new CudnnLSTM(backend, { ...SIZES, numProj: 7 })
  const params = model.createParams({ seed: 1, biasInitializer: 0.1 })
  using pool = model.streamPool(params, { maxStreams: STREAMS, ...poolOptions })
  const pooled = Array.from({ length: STREAMS }, () => pool.open())
  const own = pooled.map(() => model.stream(params))
  const given = await stateOf(own[0], backend)
  const expected: (() => Promise<readonly Tensor[]>)[] = []
  const actual: Promise<readonly Tensor[]>[] = []
  const pair = (mine: Promise<readonly Tensor[]>, theirs: () => Promise<readonly Tensor[]>) => {
    actual.push(mine)
    expected.push(theirs)
  }
  const change = (apply: () => void) =>
    pair(Promise.resolve([]), async () => {
      apply()
      return []
    })
  let steps = 0
  for (const [index, call] of calls.entries()) {
    if (call.op === 'turn') {
      await new Promise((resolve) => setTimeout(resolve, 0))
      continue
    }
    const single = own[call.stream]
    if (call.op === 'step') {
      const frame = wave(backend, [...(call.time === 0 ? [] : [call.time]), SIZES.inputSize], index)
      const kept = { data: frame.data.slice(), shape: [call.time || 1, 1, SIZES.inputSize] }
      steps += call.time || 1
      pair(
        pooled[call.stream].step(frame).then((y) => [y]),
        async () => [await single.step(kept)],
      )
      // The caller may reuse its memory.
      frame.data.fill(9)
    } else if (call.op === 'state') {
      pair(pooled[call.stream].state().then(parts), async () => parts(await single.state()))
    } else if (call.op === 'reset') {
      pooled[call.stream].reset()
      change(() => single.reset())
    } else if (call.op === 'restore') {
      pooled[call.stream].restore(given)
      change(() => single.restore(given))
    } else {
      // A stream that is closed waits for nothing; the next one takes its row, from zeros or from a state.
      await pooled[call.stream].state()
      pooled[call.stream].close()
      const from = index % 2 === 0 ? given : undefined
      pooled[call.stream] = pool.open(from)
      change(() => (from ? single.restore(from) : single.reset()))
    }
  }
  const results = await Promise.all(actual)
  await pool.drain()
  expect(pool.stats()).toMatchObject({ waiting: 0, steps, failed: 0, refused: 0, streams: STREAMS })
  for (const [index, compute] of expected.entries()) {
    const tensors = await compute()
    for (const [part, { data }] of tensors.entries()) {
      const mine = results[index][part].data
      expect(mine.length).toBe(data.length)
      for (const [k, value] of data.entries()) expect(Math.abs(mine[k] - value)).toBeLessThan(1e-6)
    }
  }
  for (const single of own) single.dispose()
  params.dispose()
  model.dispose()
}

const parts = ({ h, c }: RnnStreamState): readonly Tensor[] => (c ? [h, c] : [h])

function wave(backend: Backend, shape: readonly number[], start: number): Tensor {
  const length = elementCount(shape)
  const values = Array.from({ length }, (_, k) => Math.sin(0.7 * (k + 17 * start) + 0.3))
  return { data: backend.dtype === 'float64' ? Float64Array.from(values) : Float32Array.from(values), shape }
}

/** A state other than zeros, of the shapes of this stream. */
async function stateOf(single: Stream, backend: Backend): Promise<RnnStreamState> {
  const { h, c } = await single.state()
  return { h: wave(backend, h.shape, 3), c: c && wave(backend, c.shape, 5) }
}

describe.each(cases)('a pool of streams on $name', ({ open, inspect, runs }) => {
  it('equals separate streams for every schedule', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(schedules, options, async (calls, poolOptions) => {
        const backend = await open()
        await runSchedule(backend, calls, poolOptions)
        expect(backend.stats()).toMatchObject({ tensors: 0, steppers: 0, rnns: 0 })
        backend.dispose()
        await inspect?.(backend)
      }),
      { numRuns: asked === undefined ? runs : Number(asked), seed: Number(seed) },
    )
  })
})
