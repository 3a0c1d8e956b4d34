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
      "add",
      "attentionPooling",
      "concat",
      "conv1d",
      "conv2d",
      "cudnnGRU",
      "cudnnLSTM",
      "cudnnRNNRelu",
      "cudnnRNNTanh",
      "dense",
      "denseWeights",
      "dropout",
      "embedding",
      "importKeras",
      "lastStep",
      "layerNorm",
      "loadModel",
      "lossOf",
      "maxOverTime",
      "maxPool1d",
      "maxPool2d",
      "meanOverTime",
      "multiply",
      "reverse",
      "rnn",
      "scope",
      "sequential",
      "signalText",
      "timeDistributed",
      "transpose",
    ]
  `)
})
