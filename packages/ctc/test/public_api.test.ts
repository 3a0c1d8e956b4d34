import { expect, it } from 'vitest'
import * as api from '../src/index.js'

it('@cudnn-rnn/ctc exports these names', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "NGramModel",
      "characterScorer",
      "ctcBeamSearchDecoder",
      "ctcGreedyDecoder",
      "ctcLoss",
      "editDistance",
      "labelErrorRate",
      "wordScorer",
    ]
  `)
})
