import { expect, it } from 'vitest'
import * as api from '../src/index.js'

it('@cudnn-rnn/cells exports these names', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "BasicLSTMCell",
      "BasicRNNCell",
      "CudnnCompatibleGRUCell",
      "CudnnCompatibleLSTMCell",
      "FusedRNNCellAdaptor",
      "GRUBlockCell",
      "LSTMBlockCell",
      "LSTMBlockFusedCell",
      "LSTMCell",
      "MultiRNNCell",
      "RNNCell",
      "TimeReversedFusedRNN",
      "dynamicRnn",
      "stackBidirectionalDynamicRnn",
      "staticRnn",
    ]
  `)
})
