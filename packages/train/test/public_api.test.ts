import { expect, it } from 'vitest'
import * as train from '../src/index.js'

it('@cudnn-rnn/train exports exactly these names', () => {
  expect(Object.keys(train).sort()).toMatchInlineSnapshot(`
    [
      "Adagrad",
      "Adam",
      "DataError",
      "Dataset",
      "DatasetIterator",
      "EventFile",
      "NonFiniteError",
      "Optimizer",
      "RmsProp",
      "Sgd",
      "beamSearch",
      "checkGradients",
      "constantRate",
      "cosineRate",
      "crossEntropy",
      "csvDataset",
      "entropyFromLogits",
      "entropyGradient",
      "exponentialRate",
      "finiteNumber",
      "fit",
      "gaussianKl",
      "generate",
      "isDataError",
      "jsonLinesDataset",
      "logSoftmax",
      "logSumExp",
      "meanSquaredError",
      "metricsLine",
      "padSequences",
      "piecewiseRate",
      "sampleToken",
      "softmax",
      "softmaxGradient",
      "sparseCrossEntropy",
      "textDataset",
      "truncatedWindows",
      "weightDecayMask",
    ]
  `)
})
