import { expect, it } from 'vitest'
import * as api from '../src/index.js'

it('@cudnn-rnn/cells exports these names', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "AttentionCellWrapper",
      "BasicLSTMCell",
      "BasicRNNCell",
      "Conv1DLSTMCell",
      "Conv2DLSTMCell",
      "Conv3DLSTMCell",
      "ConvLSTMCell",
      "CudnnCompatibleGRUCell",
      "CudnnCompatibleLSTMCell",
      "DropoutWrapper",
      "FusedRNNCellAdaptor",
      "GLSTMCell",
      "GRUBlockCell",
      "HighwayWrapper",
      "LSTMBlockCell",
      "LSTMBlockFusedCell",
      "LSTMCell",
      "LayerNormBasicLSTMCell",
      "MultiRNNCell",
      "NASCell",
      "PhasedLSTMCell",
      "RNNCell",
      "ResidualWrapper",
      "TimeReversedFusedRNN",
      "UGRNNCell",
      "checkpointVariables",
      "dynamicRnn",
      "scopedName",
      "stackBidirectionalDynamicRnn",
      "staticRnn",
      "tensorRnn",
    ]
  `)
})
