import type { Backend } from '@cudnn-rnn/ops'
import {
  attentionPooling,
  concat,
  cudnnGRU,
  dense,
  dropout,
  embedding,
  lastStep,
  type ModelFitOptions,
  maxOverTime,
  sequential,
} from '../src/index.js'
import { waves } from './small_data.js'

export const float32 = (shape: readonly number[]) => ({ data: Float32Array.from(waves(shape).data), shape })

/** A classifier of sentences with a dropout of either kind. */
export const classifier = (backend: Backend, seed = 1) =>
  sequential(
    backend,
    [
      embedding({ size: 5, units: 4 }),
      dropout({ rate: 0.2 }),
      cudnnGRU({ numUnits: 6, numLayers: 2, direction: 'bidirectional', dropout: 0.2 }),
      concat([lastStep(), maxOverTime(), attentionPooling()]),
      dense({ units: 2 }),
    ],
    { seed },
  )
export const FIT: ModelFitOptions = { loss: 'softmax_cross_entropy', batchSize: 8, epochs: 4, learningRate: 0.02 }
