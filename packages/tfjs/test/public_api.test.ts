import { expect, it } from 'vitest'
import * as api from '../src/index.js'

it('@cudnn-rnn/tfjs exports these names', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "accelerate",
      "ctcLoss",
    ]
  `)
})
