import { expect, it } from 'vitest'
import * as api from '../src/index.js'

it('@cudnn-rnn/reference exports these names', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "openReferenceBackend",
    ]
  `)
})
