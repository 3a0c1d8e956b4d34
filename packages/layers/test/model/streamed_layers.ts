import { LSTMCell, UGRNNCell } from '@cudnn-rnn/cells'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect } from 'vitest'
import {
  concat,
  conv1d,
  cudnnGRU,
  cudnnLSTM,
  dense,
  type LayerDefinition,
  lastStep,
  layerNorm,
  maxOverTime,
  meanOverTime,
  rnn,
  sequential,
} from '../../src/index.js'
import { waves } from '../small_data.js'

export const dtype = 'float64' as const
export const [B, I] = [2, 3] as const

/** Layers that carry states between steps in every way: models, cells, windows, and branches of them. */
export const LAYERS: Readonly<Record<string, () => readonly LayerDefinition[]>> = {
  'a recurrent model': () => [cudnnLSTM({ numUnits: 2 })],
  'a cell': () => [rnn(new LSTMCell(2, { dtype }))],
  'a causal convolution': () => [conv1d({ filters: 2, kernelSize: 3, padding: 'causal' })],
  ...Object.fromEntries(
    [lastStep, meanOverTime, maxOverTime].map((pooling) => [
      pooling.name,
      () => [cudnnGRU({ numUnits: 2 }), pooling(), dense({ units: 1 })],
    ]),
  ),
  branches: () => [concat([cudnnGRU({ numUnits: 2 }), [rnn(new UGRNNCell(2, { dtype })), layerNorm()], []])],
}

export async function withStream(
  layers: readonly LayerDefinition[],
  use: (stream: ReturnType<ReturnType<typeof sequential>['stream']>) => Promise<void>,
): Promise<void> {
  using backend = openReferenceBackend({ dtype })
  using model = sequential(backend, layers, { inputSize: I, seed: 3 })
  const before = backend.stats()
  const stream = model.stream({ batch: B })
  await use(stream)
  stream.dispose()
  expect(backend.stats()).toEqual(before)
}

export const x = (k: number) => waves([B, I], [0.8, 0.37, k])
