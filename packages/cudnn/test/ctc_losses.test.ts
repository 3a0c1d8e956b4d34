import { expectAllclose } from '@cudnn-rnn/conformance'
import { type CtcLossOptions, type CtcLossResult, checkCtcLoss, hostCtcLoss } from '@cudnn-rnn/ops/executor'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CudnnBackend } from '../src/cudnn_backend.js'
import { openEmulatedGpu } from './emulated_gpu.js'

/** Tolerance of float32 results of sums over 300 steps in double precision. */
const TOLERANCE = 2e-6
const NAME = 'cudnnCTCLoss_v8'

interface Case {
  readonly time: number
  readonly classes: number
  readonly blank: number
  readonly labels: readonly (readonly number[])[]
  readonly logitLengths?: readonly number[]
  readonly rowWeights?: readonly number[]
  readonly mergeRepeated?: boolean
  readonly infeasible?: CtcLossOptions['infeasible']
}

function problemOf({ time, classes, blank, labels, ...options }: Case, start = 0) {
  const batch = labels.length
  const columns = Math.max(...labels.map(({ length }) => length))
  const data = Int32Array.from({ length: batch * columns }, (_, k) => labels[Math.floor(k / columns)][k % columns] ?? 0)
  const logitLengths = options.logitLengths ?? labels.map(() => time)
  const logits = Float32Array.from({ length: time * batch * classes }, (_, k) => {
    const step = Math.floor(k / classes / batch)
    // Logits past a row's length are not read.
    return step < logitLengths[Math.floor(k / classes) % batch] ? 2 * Math.sin(3 * k + start) : Number.NaN
  })
  return {
    logits: { data: logits, shape: [time, batch, classes] },
    labels: { data, shape: [batch, columns] },
    options: { ...options, blank, logitLengths, labelLengths: labels.map(({ length }) => length) },
  }
}

function expectedOf({ logits, labels, options }: ReturnType<typeof problemOf>) {
  const problem = checkCtcLoss('float32', logits, labels, options)
  const gradient = new Float32Array(logits.data.length)
  const rowLosses = new Float32Array(problem.batch)
  const loss = hostCtcLoss(gradient, rowLosses, logits.data, problem)
  return { loss: Float32Array.of(loss), rowLosses, gradient }
}

async function computed(backend: CudnnBackend, { logits, labels, options }: ReturnType<typeof problemOf>) {
  using own = backend.tensor(logits)
  const result = (await backend.ops.ctcLoss(own, labels, options)) as CtcLossResult
  const [loss, rowLosses, gradient] = await Promise.all(
    [result.loss, result.rowLosses, result.logitsGradient].map(async (tensor) => (await tensor.read()).data),
  )
  for (const tensor of Object.values(result)) tensor.dispose()
  return { loss, rowLosses, gradient }
}

function expectClose(actual: Awaited<ReturnType<typeof computed>>, expected: ReturnType<typeof expectedOf>) {
  for (const name of ['loss', 'rowLosses', 'gradient'] as const) {
    // Infinities are equal or not, and have no distance.
    const finite = (values: ArrayLike<number>) =>
      Array.from(values, (value) => (Math.abs(value) === Infinity ? 1e9 : value))
    expectAllclose(name, finite(actual[name]), finite(expected[name]), TOLERANCE)
  }
}

const SMALL = { time: 8, classes: 5, labels: [[1, 2], [3, 3, 1], [2]] }
const TAKEN: readonly Case[] = [
  { ...SMALL, blank: 0 },
  { ...SMALL, blank: 4 },
  {
    ...SMALL,
    blank: 2,
    labels: [
      [1, 3],
      [3, 3, 1],
      [0, 4, 0],
    ],
  },
  { ...SMALL, blank: 4, logitLengths: [8, 4, 1] },
  { ...SMALL, blank: 0, rowWeights: [0.5, 0, 2] },
  // A row that is left out may have too many labels.
  { ...SMALL, blank: 4, labels: [[1], [1, 1, 1, 1, 1, 1], [2]], rowWeights: [1, 0, 1] },
  { time: 300, classes: 3, blank: 2, labels: [Array.from({ length: 255 }, (_, k) => k % 2), [0]] },
]
const REFUSED: readonly Case[] = [
  { ...SMALL, blank: 0, mergeRepeated: false },
  { ...SMALL, blank: 4, labels: [[], [1], [2]] },
  { ...SMALL, blank: 4, logitLengths: [1, 8, 8] },
  { ...SMALL, blank: 4, logitLengths: [1, 8, 8], infeasible: 'zero' },
  { time: 300, classes: 3, blank: 2, labels: [Array.from({ length: 256 }, (_, k) => k % 2), [0]] },
]

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`CtcLosses (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))
  const calls = () => libraries.report().calls[NAME] ?? 0

  it.each(TAKEN)('are computed by cuDNN, with the values of the host: %o', async (given) => {
    await using backend = await open({ algorithm: 'standard' })
    const before = calls()
    for (let start = 0; start < 2; start++) {
      const problem = problemOf(given, start)
      expectClose(await computed(backend, problem), expectedOf(problem))
    }
    expect(calls() - before).toBe(2)
    expect(backend.stats().bytes).toBe(0)
  })

  it.each(REFUSED)('are computed on the host where cuDNN refuses the problem: %o', async (given) => {
    await using backend = await open({ algorithm: 'standard' })
    const before = calls()
    const problem = problemOf(given)
    expectClose(await computed(backend, problem), expectedOf(problem))
    expect(calls() - before).toBe(0)
    expect(backend.stats().bytes).toBe(0)
  })

  it.each(['cudnnGetCTCLossWorkspaceSize_v8=3000@1', `${NAME}=3000@1`])(
    'are computed on the host from a refusal of cuDNN on: %s',
    async (fault) => {
      await using backend = await open({ algorithm: 'standard' })
      libraries.configure(`fault.${fault}`)
      for (let start = 0; start < 2; start++) {
        const problem = problemOf(TAKEN[0], start)
        expectClose(await computed(backend, problem), expectedOf(problem))
      }
    },
  )

  it('read the logits in their place of the order of calls', async () => {
    await using backend = await open({ algorithm: 'standard' })
    const problem = problemOf(TAKEN[1])
    const logits = backend.tensor(problem.logits)
    const pending = backend.ops.ctcLoss(logits, problem.labels, problem.options)
    backend.ops.assign(logits, backend.zeros(logits.shape))
    const { loss } = (await pending) as CtcLossResult
    expectAllclose('loss', (await loss.read()).data, expectedOf(problem).loss, TOLERANCE)
  })

  it('are a part of a recorded step, which is replayed with other logits and labels', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    for (let step = 0; step < 6; step++) {
      const given = { ...TAKEN[3], labels: step % 2 ? TAKEN[3].labels : [[2, 1, 0], [0], [1]] }
      const problem = problemOf(given, step)
      const run = async () => {
        using logits = backend.tensor(problem.logits)
        return (await backend.ops.ctcLoss(logits, problem.labels, problem.options)) as CtcLossResult
      }
      const result = await backend.steps.run(run)
      const expected = expectedOf(problem)
      expectAllclose('loss', (await result.loss.read()).data, expected.loss, TOLERANCE)
      expectAllclose('gradient', (await result.logitsGradient.read()).data, expected.gradient, TOLERANCE)
      for (const tensor of [result.loss, result.rowLosses, result.logitsGradient]) tensor.dispose()
    }
    expect(libraries.report().calls['cudaGraphLaunch']).toBeGreaterThanOrEqual(2)
  })
})
