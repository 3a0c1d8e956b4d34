import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { RAGGED_GRU, RAGGED_SEQUENCES } from '@cudnn-rnn/conformance/ragged_task'
import { CudnnGRU } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterAll, describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  Adam,
  constantRate,
  Dataset,
  type FitOptions,
  fit,
  jsonLinesDataset,
  padSequences,
  type StepReport,
} from '../../src/index.js'
import { batches, train, trainOver } from './fits_of_ranks.js'
import { MemorySaver } from './linear_task.js'

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

describe('fit over several ranks that fail or differ', () => {
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
