import { expect, it } from 'vitest'
import * as rnn from '../src/index.js'

it('@cudnn-rnn/rnn exports exactly these names', () => {
  expect(Object.keys(rnn).sort()).toMatchInlineSnapshot(`
    [
      "BackendUnavailableError",
      "BasicLSTMCell",
      "BasicRNNCell",
      "CELL_MODES",
      "CudnnCompatibleGRUCell",
      "CudnnCompatibleLSTMCell",
      "CudnnGRU",
      "CudnnLSTM",
      "CudnnRNNRelu",
      "CudnnRNNTanh",
      "FusedRNNCellAdaptor",
      "GRUBlockCell",
      "LSTMBlockCell",
      "LSTMBlockFusedCell",
      "LSTMCell",
      "MultiRNNCell",
      "Philox",
      "RNNCell",
      "TimeReversedFusedRNN",
      "Variable",
      "createRnnDescriptor",
      "dynamicRnn",
      "flatLayout",
      "hasErrorCode",
      "inspectBackends",
      "isBackendUnavailableError",
      "openBackend",
      "paramRegions",
      "stackBidirectionalDynamicRnn",
      "staticRnn",
    ]
  `)
})
