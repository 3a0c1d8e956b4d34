import type { Backend } from '@cudnn-rnn/ops'
import {
  activation,
  conv1d,
  cudnnGRU,
  cudnnLSTM,
  cudnnRNNRelu,
  cudnnRNNTanh,
  dense,
  dropout,
  embedding,
  lastStep,
  layerNorm,
  maxOverTime,
  maxPool1d,
  meanOverTime,
  sequential,
  timeDistributed,
} from '../src/index.js'

/** The models whose `.keras` files fixtures/layers/make_keras.py runs: every layer that Keras has a counterpart of. */
export const EXPORTED = {
  text: (backend: Backend) =>
    sequential(
      backend,
      [
        embedding({ size: 7, units: 4, initializer: { uniform: 0.8 } }),
        cudnnLSTM({ numUnits: 5, numLayers: 2, direction: 'bidirectional', biasInitializer: 0.2 }),
        layerNorm(),
        dropout({ rate: 0.3 }),
        cudnnGRU({ numUnits: 4, biasInitializer: 0.1 }),
        lastStep(),
        dense({ units: 6, activation: 'elu', biasInitializer: -0.3 }),
        activation('tanh'),
        dense({ units: 3, activation: 'softmax' }),
      ],
      { seed: 5 },
    ),
  numbers: (backend: Backend) =>
    sequential(
      backend,
      [
        cudnnRNNRelu({ numUnits: 4 }),
        timeDistributed(dense({ units: 5, activation: 'sigmoid' })),
        cudnnRNNTanh({ numUnits: 4, direction: 'bidirectional' }),
        dense({ units: 4, activation: 'softplus' }),
        maxOverTime(),
        dense({ units: 2 }),
      ],
      { seed: 6, inputSize: 3 },
    ),
  windows: (backend: Backend) =>
    sequential(
      backend,
      [
        conv1d({ filters: 4, kernelSize: 3, padding: 'same', activation: 'tanh', biasInitializer: 0.1 }),
        maxPool1d({ poolSize: 2, padding: 'same' }),
        conv1d({ filters: 5, kernelSize: 2, padding: 'causal' }),
        activation('relu', { maximum: 0.3 }),
        cudnnGRU({ numUnits: 3 }),
        conv1d({ filters: 2, kernelSize: 2, strides: 2, activation: 'sigmoid' }),
      ],
      { seed: 10, inputSize: 3 },
    ),
  mean: (backend: Backend) => sequential(backend, [meanOverTime(), dense({ units: 2 })], { seed: 7, inputSize: 3 }),
} as const
