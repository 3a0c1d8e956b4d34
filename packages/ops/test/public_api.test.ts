import { expect, it } from 'vitest'
import * as api from '../src/index.js'

it('@cudnn-rnn/ops exports these names', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "BackendUnavailableError",
      "DTYPES",
      "OPTIMIZER_RULES",
      "isBackendTensor",
    ]
  `)
})
