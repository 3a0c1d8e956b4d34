import { expect, it } from 'vitest'
import * as reference from '../src/index.js'

it('@cudnn-rnn/reference exports exactly these names', () => {
  expect(Object.keys(reference).sort()).toMatchInlineSnapshot(`
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
      "openReferenceBackend",
      "stackBidirectionalDynamicRnn",
      "staticRnn",
    ]
  `)
})
