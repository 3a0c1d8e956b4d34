import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expectAllclose } from '@cudnn-rnn/conformance'
import { type LocalCommunicator, localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { RAGGED_GRU, RAGGED_SEQUENCES, type RaggedSequence, RaggedTask } from '@cudnn-rnn/conformance/ragged_task'
import { CudnnGRU } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterAll, describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  Adam,
  constantRate,
  Dataset,
  type FitOptions,
  type FitResult,
  fit,
  jsonLinesDataset,
  padSequences,
  type StepReport,
  weightedMeans,
} from '../../src/index.js'
import { MemorySaver } from './linear_task.js'

/** Numbers of float32 sums in another order. */
const TOLERANCE = 1e-6

/** Shuffled batches of 5, four times. */
const batches = (seed: number, sequences: readonly RaggedSequence[], world = { rank: 0, size: 1 }) =>
  Dataset.fromArray(sequences)
    .shuffle({ bufferSize: 23, seed })
    .repeat(4)
    .batch(5)
    .shard(world)
    .map((share) => padSequences(share))

interface Run {
  readonly reports: readonly StepReport[]
  readonly result: FitResult
  readonly elements: readonly number[]
}

/** One rank of a run of {@link RaggedTask} on batches of 5, the last of an epoch of 3. */
async function train(
  communicator: LocalCommunicator | undefined,
  saver: MemorySaver | undefined,
  more: Partial<FitOptions<ReturnType<typeof padSequences<Float32Array>>>> = {},
): Promise<Run> {
  const world = communicator ?? { rank: 0, size: 1 }
  using backend = openReferenceBackend()
  const gru = new CudnnGRU(backend, RAGGED_GRU)
  // Ranks begin with the first one's values, not with their own.
  const params = gru.createParams({ seed: 1 + world.rank })
  const task = new RaggedTask(gru, params)
  const reports: StepReport[] = []
  const result = await fit({
    data: batches(4, RAGGED_SEQUENCES, world),
    batchGradients: (batch) => task.batchGradients(batch),
    optimizer: new Adam([params]),
    learningRate: constantRate(0.05),
    maxSteps: 1000,
    clipNorm: 0.2,
    evaluate: async () => {
      const shares = Dataset.fromArray(RAGGED_SEQUENCES.slice(0, 7)).batch(3).shard(world)
      const { loss, steps } = await task.meanLoss(shares, padSequences)
      return communicator === undefined ? { loss } : await weightedMeans(communicator as never, { loss }, steps)
    },
    evaluateEvery: 4,
    earlyStopping: { metric: 'loss' },
    // A store is one directory: each rank's saver writes with its own executor.
    saver: saver && Object.assign(new MemorySaver(backend), { saved: saver.saved }),
    communicator: communicator as never,
    onStep: (report) => void reports.push(report),
    ...more,
  })
  return { reports, result, elements: [...(await params.value.read()).data] }
}

/** The same on every rank of a communicator of this thread. */
async function trainOver(
  size: number,
  saver?: (rank: number) => MemorySaver,
  more?: (rank: number) => Partial<FitOptions<ReturnType<typeof padSequences<Float32Array>>>>,
): Promise<Run[]> {
  const communicators = localCommunicators(size)
  return await Promise.all(communicators.map((each, rank) => train(each, saver?.(rank), more?.(rank))))
}

const failures = (runs: readonly PromiseSettledResult<unknown>[]) =>
  runs.map((run) => (run.status === 'rejected' ? (run.reason as Error & { code?: string }) : undefined))

/** An executor that differs from the other ranks' by its instruction set. */
const another = Object.assign(openReferenceBackend(), { implementation: 'another' })

/** The rejection of every rank of a run of which `more` makes one fail. */
async function failuresOver(
  size: number,
  more: (rank: number) => Partial<FitOptions<ReturnType<typeof padSequences<Float32Array>>>>,
) {
  const backend = openReferenceBackend()
  const communicators = localCommunicators(size)
  const runs = communicators.map((each, rank) => train(each, new MemorySaver(backend), more(rank)))
  return failures(await Promise.allSettled(runs))
}

describe('fit over several ranks', () => {
  it.each([1, 2, 3, 4])('equals one process with the whole batches: %d ranks', async (size) => {
    const alone = await train(undefined, undefined)
    const runs = await trainOver(size)
    expect(alone.result).toMatchObject({ ending: 'out of data', step: 19 })
    for (const { result, elements } of runs) {
      expect(result).toMatchObject({ ending: 'out of data', step: 19 })
      expect(result.best!.step).toBe(alone.result.best!.step)
      expectAllclose('best', [result.best!.value], [alone.result.best!.value], TOLERANCE)
      expect(elements).toEqual(runs[0].elements)
    }
    expectAllclose('params', runs[0].elements, alone.elements, TOLERANCE)
    const [first, ...others] = runs
    expect(others.every(({ reports }) => reports.length === 0)).toBe(true)
    for (const name of ['loss', 'gradientNorm'] as const) {
      const of = ({ reports }: Run) => reports.map((report) => report[name])
      expectAllclose(name, of(first), of(alone), TOLERANCE)
    }
    const metrics = ({ reports }: Run) => reports.flatMap((report) => report.metrics?.['loss'] ?? [])
    expectAllclose('metrics', metrics(first), metrics(alone), TOLERANCE)
  })

  it.each([1, 2, 3, 4])('stops early on every rank, with the best weights of one process: %d ranks', async (size) => {
    // The loss falls from the first evaluation on, so none after it has a greater one.
    const more = { earlyStopping: { metric: 'loss', mode: 'max', patience: 2, restoreBestWeights: true } } as const
    const best = await train(undefined, undefined, { maxSteps: 4 })
    const alone = await train(undefined, undefined, more)
    expect(alone.result.ending).toBe('stopped early')
    expect(alone.result).toMatchObject({ step: 12, best: { step: 4 } })
    for (const { result, elements } of await trainOver(size, undefined, () => more)) {
      expectAllclose('best weights', elements, best.elements, TOLERANCE)
      expect(result).toMatchObject({ ending: alone.result.ending, step: alone.result.step })
      expect(result.best!.step).toBe(alone.result.best!.step)
      expectAllclose('best', [result.best!.value], [alone.result.best!.value], TOLERANCE)
    }
  })

  it('weighs accumulated batches by their rows, as one process does', async () => {
    const more = { accumulate: 3, maxSteps: 6 }
    const alone = await train(undefined, undefined, more)
    const [first] = await trainOver(3, undefined, () => more)
    expectAllclose('params', first.elements, alone.elements, TOLERANCE)
  })

  it('makes one message and one all-reduce for an update', async () => {
    const calls = async (maxSteps: number) => {
      const communicators = localCommunicators(2)
      const more = { maxSteps, evaluate: undefined, earlyStopping: undefined, evaluateEvery: undefined }
      await Promise.all(communicators.map((each) => train(each, undefined, more)))
      return communicators[0].calls
    }
    expect((await calls(12)) - (await calls(5))).toBe(14)
  })

  it('continues over another number of ranks with the same results', async () => {
    const backend = openReferenceBackend()
    const alone = await train(undefined, undefined)
    const saver = new MemorySaver(backend)
    const lengths: number[] = []
    for (const [size, maxSteps] of [
      [4, 6],
      [2, 11],
      [1, 15],
      [3, 1000],
    ] as const) {
      // One directory, which the first rank alone touches.
      const of = (rank: number) => (rank === 0 ? saver : new MemorySaver(backend))
      const runs =
        size === 1 ? [await train(undefined, saver, { maxSteps })] : await trainOver(size, of, () => ({ maxSteps }))
      lengths.push(runs[0].reports.length)
      if (maxSteps === 1000) expectAllclose('params', runs[0].elements, alone.elements, TOLERANCE)
    }
    expect(lengths).toEqual([6, 5, 4, 4])
  })

  it('keeps the state of each rank, and names the rank after a change of their number', async () => {
    const backend = openReferenceBackend()
    const saver = new MemorySaver(backend)
    const restored: unknown[] = []
    const run = (size: number, maxSteps: number) =>
      trainOver(
        size,
        (rank) => (rank === 0 ? saver : new MemorySaver(backend)),
        (rank) => ({
          maxSteps,
          state: {
            save: () => `of rank ${rank}`,
            restore: (saved, by) => {
              restored[rank] = [saved, by]
            },
          },
        }),
      )
    await run(2, 2)
    await run(2, 3)
    expect(restored).toEqual([
      ['of rank 0', { rank: 0, size: 2 }],
      ['of rank 1', { rank: 1, size: 2 }],
    ])
    await run(3, 4)
    expect(restored[2]).toEqual(['of rank 0', { rank: 0, size: 2 }])
  })

  it('saves the rows of all ranks in one tensor, and continues over another number of ranks', async () => {
    const store = new MemorySaver(openReferenceBackend()).saved
    const continued: number[][] = []
    /** Adds each element to its row of the state, [2, rows, 1]. */
    const run = async (communicator: LocalCommunicator | undefined, maxSteps: number) => {
      const world = communicator ?? { rank: 0, size: 1 }
      using backend = openReferenceBackend()
      const whole = [1, 2, 3, 4, 5, 6, 7]
      const data = Dataset.fromArray(whole).repeat().batch(7).shard(world)
      const { value: share } = await data.iterate().next()
      const rows = { name: 'rows', backend, value: backend.zeros([2, share.length, 1]) }
      const weight = { name: 'weight', backend, value: backend.zeros([1]) }
      await fit({
        data,
        async batchGradients(batch) {
          const { data: before } = await rows.value.read()
          const sums = Float32Array.from(before, (sum, k) => sum + batch[k % batch.length])
          backend.ops.assign(rows.value, { data: sums, shape: rows.value.shape })
          return { loss: 0, gradients: [backend.zeros([1])] }
        },
        optimizer: new Adam([weight]),
        learningRate: 0.1,
        maxSteps,
        state: { tensors: [rows], batchAxes: [1] },
        saver: Object.assign(new MemorySaver(backend), { saved: store }),
        communicator: communicator as never,
      })
      continued[world.rank] = [...(await rows.value.read()).data]
    }
    await Promise.all(localCommunicators(2).map((each) => run(each, 1)))
    expect(continued).toEqual([
      [1, 2, 3, 1, 2, 3],
      [4, 5, 6, 7, 4, 5, 6, 7],
    ])
    await Promise.all(localCommunicators(3).map((each) => run(each, 2)))
    expect(continued).toEqual([
      [2, 4, 2, 4],
      [6, 8, 6, 8],
      [10, 12, 14, 10, 12, 14],
    ])
    await run(undefined, 3)
    expect(continued[0]).toEqual([3, 6, 9, 12, 15, 18, 21, 3, 6, 9, 12, 15, 18, 21])
  })

  it('rounds the gradients alone where bfloat16 is on the wire, and keeps all ranks equal', async () => {
    const alone = await train(undefined, undefined)
    const [first, second] = await trainOver(2, undefined, () => ({ wire: 'bfloat16' }))
    expect(first!.elements).toEqual(second!.elements)
    expect(first!.reports[0]!.loss).toBeCloseTo(alone.reports[0]!.loss, 6)
    const norms = ({ reports }: Run) => reports[0]!.gradientNorm
    expect(norms(first!) / norms(alone)).toBeGreaterThan(1 - 2 ** -7)
    expect(norms(first!) / norms(alone)).toBeLessThan(1 + 2 ** -7)
    expect(norms(first!)).not.toBe(norms(alone))
  })

  it('ends after the step in which the signal of any rank came', async () => {
    const aborting = new AbortController()
    const runs = await trainOver(3, undefined, (rank) => ({
      ...(rank === 2 && { signal: aborting.signal }),
      onStep: ({ step }) => {
        if (step === 3) aborting.abort()
      },
    }))
    const endings = runs.map(({ result }) => `${result.ending} ${result.step}`)
    expect(new Set(endings)).toEqual(new Set(['aborted 4']))
  })

  it('skips an update of which one rank has NaN, and ends when variables differ', async () => {
    const run = async (isSkipped: boolean) => {
      const reports: StepReport[] = []
      const ranks = localCommunicators(2).map(async (communicator, rank) => {
        using backend = openReferenceBackend()
        const value = backend.zeros([2])
        let steps = 0
        return await fit({
          data: Dataset.fromArray([1, 2, 3, 4]).batch(2).shard(communicator),
          async batchGradients() {
            steps++
            if (!isSkipped && rank === 1) backend.ops.assign(value, { data: Float32Array.of(9, 9), shape: [2] })
            const data = Float32Array.of(1, isSkipped && rank === 1 && steps < 2 ? Number.NaN : 1)
            return { loss: 1, gradients: [backend.tensor({ data, shape: [2] })] }
          },
          optimizer: new Adam([{ name: 'v', backend, value }]),
          learningRate: constantRate(0.1),
          maxSteps: 2,
          communicator: communicator as never,
          onStep: (report) => void reports.push(report),
        })
      })
      return { reports, errors: failures(await Promise.allSettled(ranks)) }
    }
    const skipping = await run(true)
    expect(skipping.errors).toEqual([undefined, undefined])
    expect(skipping.reports.map(({ skipped }) => skipped)).toEqual([true, false])
    const code = 'ERR_RANKS_DIVERGED'
    expect((await run(false)).errors).toEqual([coded(code), coded(code)])
  })

  it.each([
    ['batchGradients', 1, { batchGradients: () => Promise.reject(new Error('no memory')) }],
    ['evaluate', 2, { evaluate: () => Promise.reject(new Error('no memory')) }],
    ['onStep', 0, { onStep: () => Promise.reject(new Error('no memory')) }],
    ['onStart', 0, { onStart: () => Promise.reject(new Error('no memory')) }],
    ['the data', 1, { data: batches(4, RAGGED_SEQUENCES).map(() => Promise.reject(new Error('no memory'))) }],
    ['state.save', 1, { state: { save: () => Promise.reject(new Error('no memory')) } }],
  ] as const)('rejects on all ranks where %s fails on rank %d', async (_, failed, more) => {
    const errors = await failuresOver(3, (rank) => ({
      evaluate: async () => ({ loss: 1 }),
      ...(rank === failed && (more as object)),
    }))
    for (const [rank, error] of errors.entries()) {
      if (rank === failed) expect(error?.message).toBe('no memory')
      else
        expect(error).toMatchObject({
          code: 'ERR_RANK_FAILED',
          rank: failed,
          message: expect.stringMatching(/no memory/),
        })
    }
  })

  it('reports a wrong option once where all ranks have it, and on all ranks where one has it', async () => {
    const [first, ...others] = await failuresOver(3, () => ({ maxSkipped: 1.5 }))
    expect(first).toMatchObject({ code: 'ERR_HYPERPARAMETER' })
    for (const error of others) {
      expect(error).toMatchObject({ code: 'ERR_RANK_FAILED', rank: 0, cause: { code: 'ERR_HYPERPARAMETER' } })
    }
    const errors = await failuresOver(3, (rank) => (rank === 1 ? { maxSkipped: 1.5 } : {}))
    expect(errors.map((error) => (error as { code?: string } | undefined)?.code)).toEqual([
      'ERR_RANK_FAILED',
      'ERR_HYPERPARAMETER',
      'ERR_RANK_FAILED',
    ])
  })

  it.each([
    ['maxSteps', { maxSteps: 7 }, /the same maxSteps: rank 0 has "1000", rank 1 has "7"/],
    ['clipNorm', { clipNorm: 1 }, /the same clipNorm/],
    ['wire', { wire: 'bfloat16' }, /the same wire: rank 0 has none, rank 1 has "bfloat16"/],
    [
      'instruction set',
      { optimizer: new Adam([new CudnnGRU(another, RAGGED_GRU).createParams()]) },
      /the same executor: rank 0 has \["reference","float32"(,null)?\], rank 1 has \["reference","float32","another"\]/,
    ],
    [
      'elements',
      { data: batches(4, RAGGED_SEQUENCES.toSpliced(3, 1, RAGGED_SEQUENCES[0])) },
      /the same data: rank 0 has "array of 23 elements \w+, .*rank 1 has "array of 23 elements/,
    ],
    [
      'shuffle',
      { data: batches(5, RAGGED_SEQUENCES) },
      /the same data: rank 0 has "array of 23 elements \w+, shuffled in blocks of 23 by seed 4, 4 times, batches of 5", rank 1 has ".* by seed 5/,
    ],
    [
      'data',
      {
        data: Dataset.fromArray(RAGGED_SEQUENCES)
          .batch(5)
          .map(padSequences as never) as never,
      },
      /the same data/,
    ],
  ] as const)('refuses ranks of other %s', async (_, more, message) => {
    for (const error of await failuresOver(2, (rank) => (rank === 1 ? more : {}))) {
      expect(error).toMatchObject({ code: 'ERR_RANKS_DIFFER', message: expect.stringMatching(message) })
    }
  })

  describe('with files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'ranks-of-files-'))
    afterAll(() => rmSync(folder, { recursive: true }))

    /** The failures of ranks of which each reads its own file of one JSON number a line. */
    async function failuresOfFiles(contents: readonly string[]) {
      const ranks = localCommunicators(contents.length).map(async (communicator, rank) => {
        const path = join(folder, `rank-${rank}.jsonl`)
        writeFileSync(path, contents[rank])
        using backend = openReferenceBackend()
        const value = backend.zeros([1])
        const { step } = await fit({
          data: jsonLinesDataset<number>(path).batch(2).shard(communicator),
          async batchGradients([target]) {
            return { loss: 1, gradients: [backend.tensor({ data: Float32Array.of(target), shape: [1] })] }
          },
          optimizer: new Adam([{ name: 'v', backend, value }]),
          learningRate: 0.1,
          maxSteps: 2,
          communicator: communicator as never,
        })
        expect(step).toBe(2)
      })
      return failures(await Promise.allSettled(ranks))
    }

    it('accepts ranks with equal files at different paths', async () => {
      expect(await failuresOfFiles(['1\n2\n3\n4\n', '1\n2\n3\n4\n'])).toEqual([undefined, undefined])
    })

    it.each([
      [
        'content',
        '1\n2\n3\n5\n',
        /rank 0 has "JSON lines of a file of 8 bytes \w+.*rank 1 has "JSON lines of a file of 8 bytes/,
      ],
      [
        'size',
        '1\n2\n3\n4\n5\n',
        /rank 0 has "JSON lines of a file of 8 bytes .*rank 1 has "JSON lines of a file of 10 bytes/,
      ],
    ])('refuses ranks with files of another %s', async (_, other, message) => {
      const failed = await failuresOfFiles(['1\n2\n3\n4\n', other])
      for (const error of failed) {
        expect(error).toMatchObject({ code: 'ERR_RANKS_DIFFER', message: expect.stringMatching(message) })
      }
    })
  })
})
