import { MemoryStore } from '@cudnn-rnn/checkpoint'
import { expectAllclose } from '@cudnn-rnn/conformance'
import { type LocalCommunicator, localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import type { Communicator, StepReport } from '@cudnn-rnn/train'
import { describe, expect, it } from 'vitest'
import {
  cudnnGRU,
  dense,
  dropout,
  type LayerBatch,
  type LayerExample,
  lastStep,
  type ModelFitOptions,
  sequential,
  timeDistributed,
} from '../src/index.js'

/** Numbers of float32 sums in another order. */
const TOLERANCE = 1e-6

/** Ragged sequences of 1 to 5 steps, and a class of each step. */
const tagged: readonly LayerExample[] = Array.from({ length: 11 }, (_, row) => {
  const time = 1 + ((row * 3) % 5)
  const data = Float32Array.from({ length: 2 * time }, (_, k) => Math.sin(row + k))
  return { input: { data, shape: [time, 2] }, label: Array.from({ length: time }, (_, t) => (row + t) % 3) }
})

/** Batches of sequences with a weight and a number for each row. */
const weighed: readonly LayerBatch[] = [5, 4, 1].map((rows, n) => ({
  input: { data: Float32Array.from({ length: 3 * rows * 2 }, (_, k) => Math.cos(n + k)), shape: [3, rows, 2] },
  labels: { data: Float32Array.from({ length: rows }, (_, k) => k / 4), shape: [rows, 1] },
  weights: { data: Float32Array.from({ length: rows }, (_, k) => k % 3), shape: [rows] },
}))

/** Windows of four sequences, each going on where the one before it ended. */
const windows: readonly LayerBatch[] = [0, 1, 2].map((n) => ({
  input: { data: Float32Array.from({ length: 2 * 4 * 2 }, (_, k) => Math.sin(3 * n + k)), shape: [2, 4, 2] },
  labels: { data: Int32Array.from({ length: 2 * 4 }, (_, k) => (n + k) % 3), shape: [2, 4] },
  restarts: n === 0,
}))

const RUNS = {
  'examples of ragged sequences': {
    data: tagged,
    layers: [cudnnGRU({ numUnits: 3, inputSize: 2 }), timeDistributed(dense({ units: 3 }))],
    options: { loss: 'softmax_cross_entropy', batchSize: 4, epochs: 3, accumulate: 2, validation: tagged.slice(0, 5) },
  },
  'batches with weights': {
    data: weighed,
    layers: [cudnnGRU({ numUnits: 3, inputSize: 2 }), lastStep(), dense({ units: 1 })],
    options: { loss: 'mean_squared_error', epochs: 3, validation: weighed },
  },
  'states that are carried from batch to batch': {
    data: windows,
    layers: [cudnnGRU({ numUnits: 3, inputSize: 2 }), timeDistributed(dense({ units: 3 }))],
    options: { loss: 'softmax_cross_entropy', epochs: 2, validation: windows },
  },
} as const

async function train(
  { data, layers, options }: (typeof RUNS)[keyof typeof RUNS],
  communicator: LocalCommunicator | undefined,
) {
  using backend = openReferenceBackend()
  const reports: StepReport[] = []
  using model = sequential(backend, layers, { seed: 7 + (communicator?.rank ?? 0) })
  await model.fit(data as readonly LayerExample[], {
    ...(options as ModelFitOptions),
    communicator: communicator as Communicator | undefined,
    onStep: (report) => void reports.push(report),
  })
  const variables = await Promise.all(model.variables.map(({ value }) => value.read()))
  return { reports, elements: variables.flatMap((tensor) => [...(tensor.data as Float32Array)]) }
}

describe('LayersModel.fit over several ranks', () => {
  it.each(Object.entries(RUNS))('has the numbers of one process: %s', async (_, run) => {
    const alone = await train(run, undefined)
    for (const size of [1, 3]) {
      const [first, ...others] = await Promise.all(localCommunicators(size).map((each) => train(run, each)))
      expectAllclose('variables', first.elements, alone.elements, TOLERANCE)
      expect(
        others.every(({ reports, elements }) => reports.length === 0 && `${elements}` === `${first.elements}`),
      ).toBe(true)
      const losses = (reports: readonly StepReport[]) => reports.map(({ loss }) => loss)
      expectAllclose('losses', losses(first.reports), losses(alone.reports), TOLERANCE)
      const metrics = (reports: readonly StepReport[]) =>
        reports.flatMap((report) => Object.values(report.metrics ?? {}))
      expect(metrics(first.reports).length).toBeGreaterThan(0)
      expectAllclose('metrics', metrics(first.reports), metrics(alone.reports), TOLERANCE)
    }
  })

  it('continues with the masks of an uninterrupted run, and over another number of ranks', async () => {
    const run = async (size: number, store: MemoryStore, maxSteps: number) => {
      const ranks = localCommunicators(size).map(async (communicator) => {
        using backend = openReferenceBackend()
        const layers = [
          cudnnGRU({ numUnits: 4, numLayers: 2, inputSize: 2, dropout: 0.4 }),
          lastStep(),
          dropout({ rate: 0.3 }),
          dense({ units: 1 }),
        ]
        using model = sequential(backend, layers, { seed: 7 })
        const losses: number[] = []
        await model.fit(weighed, {
          loss: 'mean_squared_error',
          maxSteps,
          checkpoints: store,
          communicator: communicator as unknown as Communicator,
          onStep: ({ loss }) => void losses.push(loss),
        })
        const variables = await Promise.all(model.variables.map(({ value }) => value.read()))
        return { losses, elements: variables.flatMap((tensor) => [...(tensor.data as Float32Array)]) }
      })
      return await Promise.all(ranks)
    }
    const [whole, store] = [new MemoryStore(), new MemoryStore()]
    const expected = await run(2, whole, 8)
    await run(2, store, 4)
    const resumed = await run(2, store, 8)
    expect(resumed[0].losses).toEqual(expected[0].losses.slice(4))
    expect(resumed.map(({ elements }) => elements)).toEqual(expected.map(({ elements }) => elements))
    for (const [size, maxSteps] of [
      [3, 10],
      [1, 11],
      [2, 13],
    ] as const) {
      const [{ losses, elements }, ...others] = await run(size, store, maxSteps)
      expect(losses.length).toBeGreaterThan(0)
      for (const other of others) expect(other.elements).toEqual(elements)
    }
  })

  it.each([
    [
      'layer 1',
      { numUnits: 3, inputSize: 2, dropout: 0.5 },
      {},
      /layer 1: rank 0 has .*"dropout":"0.2".* rank 1 has .*"dropout":"0.5"/,
    ],
    [
      'layer 1',
      { numUnits: 3, inputSize: 2, direction: 'bidirectional' },
      {},
      /layer 1: rank 0 has .* rank 1 has .*bidirectional/,
    ],
    [
      'loss',
      undefined,
      { loss: 'mean_absolute_error' },
      /loss: rank 0 has "mean_squared_error", rank 1 has "mean_absolute_error"/,
    ],
    [
      'validation',
      undefined,
      { validation: weighed.slice(1) },
      /validation: rank 0 has none, rank 1 has "array of 2 elements/,
    ],
    [
      'optimizer',
      undefined,
      { optimizer: 'momentum' },
      /optimizer: rank 0 has \["Adam",.*rank 1 has \["Sgd",\{"rule":"momentum",.*"momentum":"0.9"/,
    ],
    ['data', undefined, undefined, /data: rank 0 has "array of 3 elements .*rank 1 has "array of 2 elements/],
  ] as const)('refuses ranks with another %s, and reports both', async (difference, gru, more, message) => {
    const ranks = localCommunicators(2).map(async (communicator, rank) => {
      using backend = openReferenceBackend()
      const own = rank === 1 && gru !== undefined ? gru : { numUnits: 3, inputSize: 2, dropout: 0.2 }
      using model = sequential(backend, [cudnnGRU(own), lastStep(), dense({ units: 1 })], { seed: 7 })
      await model.fit(rank === 1 && more === undefined ? weighed.slice(1) : weighed, {
        loss: 'mean_squared_error',
        maxSteps: 2,
        communicator: communicator as unknown as Communicator,
        ...(rank === 1 && more),
      })
    })
    for (const outcome of await Promise.allSettled(ranks)) {
      expect(outcome).toMatchObject({ reason: { code: 'ERR_RANKS_DIFFER', difference } })
      expect((outcome as PromiseRejectedResult).reason.message).toMatch(message)
    }
  })

  it('refuses ranks with another number of layers', async () => {
    const ranks = localCommunicators(2).map(async (communicator, rank) => {
      using backend = openReferenceBackend()
      const more = rank === 1 ? [dropout({ rate: 0.1 })] : []
      const layers = [cudnnGRU({ numUnits: 3, inputSize: 2 }), lastStep(), dense({ units: 1 }), ...more]
      using model = sequential(backend, layers)
      await model.fit(weighed, {
        loss: 'mean_squared_error',
        communicator: communicator as unknown as Communicator,
      })
    })
    for (const outcome of await Promise.allSettled(ranks)) {
      expect(outcome).toMatchObject({ reason: { code: 'ERR_RANKS_DIFFER', difference: 'number of layers' } })
    }
  })
})
