import { expectAllclose } from '@cudnn-rnn/conformance'
import { type LocalCommunicator, localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import type { Communicator, StepReport } from '@cudnn-rnn/train'
import { describe, expect, it } from 'vitest'
import {
  cudnnGRU,
  dense,
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

describe('SequentialModel.fit over several ranks', () => {
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
})
