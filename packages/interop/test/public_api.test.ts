import { expect, it } from 'vitest'
import * as interop from '../src/index.js'

it('@cudnn-rnn/interop exports exactly these names', () => {
  expect(Object.keys(interop).sort()).toMatchInlineSnapshot(`
    [
      "EXPORT_FORMATS",
      "WEIGHT_FORMATS",
      "WeightFileError",
      "exportWeights",
      "importWeights",
      "isWeightFileError",
      "openWeightFile",
      "stackNetworks",
    ]
  `)
})
