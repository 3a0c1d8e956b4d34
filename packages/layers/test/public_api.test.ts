import { expect, it } from 'vitest'
import * as api from '../src/index.js'

it('@cudnn-rnn/layers exports these names', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "LOSSES",
      "Layer",
      "LayerBuild",
      "RecurrentLayer",
      "TrainingCheckpoints",
      "activation",
      "attentionPooling",
      "concat",
      "cudnnGRU",
      "cudnnLSTM",
      "cudnnRNNRelu",
      "cudnnRNNTanh",
      "dense",
      "dropout",
      "embedding",
      "importKeras",
      "lastStep",
      "layerNorm",
      "loadModel",
      "lossOf",
      "maxOverTime",
      "meanOverTime",
      "reverse",
      "rnn",
      "scope",
      "sequential",
      "signalText",
      "timeDistributed",
    ]
  `)
})
