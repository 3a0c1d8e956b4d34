import { LSTMCell } from '@cudnn-rnn/cells'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { failingAt } from '../../../scripts/testing/failing_backend.mjs'
import {
  activation,
  add,
  attentionPooling,
  concat,
  conv1d,
  conv2d,
  cudnnGRU,
  cudnnLSTM,
  dense,
  dropout,
  embedding,
  type LayerDefinition,
  lastStep,
  layerNorm,
  maxPool1d,
  maxPool2d,
  multiply,
  reverse,
  rnn,
  sequential,
  timeDistributed,
} from '../src/index.js'
import { waves } from './small_data.js'

const dtype = 'float64' as const
const [TIME, BATCH, FEATURES] = [4, 2, 4] as const

const LAYERS: Readonly<Record<string, () => readonly LayerDefinition[]>> = {
  dense: () => [dense({ units: 3, activation: 'tanh' })],
  'a chain': () => [dense({ units: 3 }), layerNorm(), activation('softplus'), dropout({ rate: 0.5 }), reverse()],
  conv1d: () => [conv1d({ filters: 3, kernelSize: 2, activation: 'tanh' })],
  'conv1d with padding': () => [conv1d({ filters: 2, kernelSize: 3, strides: 2, padding: 'same' })],
  conv2d: () => [conv2d({ height: 2, filters: 2, kernelSize: [2, 2], activation: 'sigmoid' })],
  maxPool1d: () => [maxPool1d({ poolSize: 2 })],
  'maxPool2d with padding': () => [maxPool2d({ height: 2, poolSize: [3, 2], strides: [2, 1], padding: 'same' })],
  add: () => [add([[], dense({ units: FEATURES }), [layerNorm(), cudnnGRU({ numUnits: FEATURES })]])],
  multiply: () => [multiply([dense({ units: 2 }), [layerNorm(), dense({ units: 2 })]])],
  concat: () => [concat([[], dense({ units: 2 }), cudnnLSTM({ numUnits: 2 })])],
  attentionPooling: () => [attentionPooling({ units: 3 })],
  'attentionPooling with linear scores': () => [attentionPooling({ isLinear: true })],
  timeDistributed: () => [timeDistributed(dense({ units: 2 }))],
  'a recurrent model': () => [cudnnLSTM({ numUnits: 2, numLayers: 2 }), lastStep()],
  'a cell': () => [rnn(new LSTMCell(2, { dtype })), dense({ units: 1 })],
}

/** Builds a model, runs a pass and, in training, its backward, and disposes everything that they return. */
async function pass(backend: Backend, layers: readonly LayerDefinition[], isTraining: boolean): Promise<void> {
  using model = sequential(backend, layers, { seed: 3, inputSize: FEATURES })
  const options = { isTraining, sequenceLengths: [TIME, 2], keepStates: true }
  const { output, tape, states } = await model.call(waves([TIME, BATCH, FEATURES]), options)
  try {
    if (tape === undefined) return
    const gradients = await model.gradients(tape, waves(output.shape))
    for (const tensor of [gradients.input, ...gradients.variables]) tensor?.dispose()
  } finally {
    for (const tensor of [output, ...states]) tensor.dispose()
    tape?.dispose()
  }
}

describe('a failure of the executor, wherever it happens, leaves no tensor,', () => {
  for (const [name, layers] of Object.entries(LAYERS)) {
    test.each([true, false])(`of ${name}, isTraining %s`, async (isTraining) => {
      using backend = openReferenceBackend({ dtype })
      let calls = 0
      await pass(
        failingAt(backend, -1, () => calls++),
        layers(),
        isTraining,
      )
      const none = { tensors: 0, tapes: 0, rnns: 0 }
      expect(backend.stats()).toMatchObject(none)
      expect(calls).toBeGreaterThan(1)
      for (let call = 0; call < calls; call++) {
        await expect(pass(failingAt(backend, call), layers(), isTraining), `call ${call}`).rejects.toThrow(
          'out of memory',
        )
        expect(backend.stats(), `call ${call}`).toMatchObject(none)
      }
    })
  }

  test('of an embedding', async () => {
    using backend = openReferenceBackend({ dtype })
    const ids = { data: Int32Array.of(0, 1, 2, 1), shape: [2, 2] }
    const run = async (on: Backend) => {
      using model = sequential(on, [embedding({ size: 3, units: 2 }), layerNorm()])
      const { output, tape } = await model.call(ids)
      using _output = output
      const gradients = await model.gradients(tape!, waves(output.shape))
      for (const tensor of gradients.variables) tensor.dispose()
    }
    let calls = 0
    await run(failingAt(backend, -1, () => calls++))
    for (let call = 0; call < calls; call++) {
      await expect(run(failingAt(backend, call))).rejects.toThrow('out of memory')
      expect(backend.stats(), `call ${call}`).toMatchObject({ tensors: 0, tapes: 0 })
    }
  })
})
