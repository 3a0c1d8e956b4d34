import { expect, it } from 'vitest'
import * as api from '../src/index.js'

it('@cudnn-rnn/backend exports these names', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "ACTIVATIONS",
      "BackendUnavailableError",
      "DTYPES",
      "ELEMENT_LOSSES",
      "OPTIMIZER_RULES",
      "POOLINGS",
      "dtypeOf",
      "isBackendTensor",
      "isBackendUnavailableError",
    ]
  `)
})
