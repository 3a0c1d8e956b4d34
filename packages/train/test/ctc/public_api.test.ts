import { expect, it } from 'vitest'
import * as api from '../../src/ctc/index.js'

it('@cudnn-rnn/train/ctc exports these names', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "NGramModel",
      "characterScorer",
      "checkCtcLossSettings",
      "ctcBeamSearchDecoder",
      "ctcBlank",
      "ctcGreedyDecoder",
      "ctcLoss",
      "editDistance",
      "labelErrorRate",
      "wordScorer",
    ]
  `)
})
