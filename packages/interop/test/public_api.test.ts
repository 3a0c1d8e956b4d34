import { expect, it } from 'vitest'
import * as interop from '../src/index.js'

it('@cudnn-rnn/interop exports exactly these names', () => {
  expect(Object.keys(interop).sort()).toMatchInlineSnapshot(`
    [
      "CONVENTIONS",
      "EXPORT_FORMATS",
      "WEIGHT_FORMATS",
      "WeightFileError",
      "blobSource",
      "encodeKerasArchive",
      "encodeOnnxModel",
      "exportWeights",
      "importWeights",
      "memorySource",
      "openWeightFile",
      "stackNetworks",
    ]
  `)
})
