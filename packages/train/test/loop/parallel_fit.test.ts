import { expectAllclose } from '@cudnn-rnn/conformance'
import { type LocalCommunicator, localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { Adam, Dataset, fit } from '../../src/index.js'
import { type Run, train, trainOver } from './fits_of_ranks.js'
import { MemorySaver } from './linear_task.js'

/** Numbers of float32 sums in another order. */
const TOLERANCE = 1e-6

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
})
