import {
  type Backend,
  type BackendTensor,
  CudnnGRU,
  CudnnLSTM,
  CudnnRNNRelu,
  CudnnRNNTanh,
  type Tape,
} from '@cudnn-rnn/rnn'
import type { Workload } from './workload.js'

/** One of the four models with the states left out, so that all have one signature. */
export interface ExecutorModel {
  readonly model: CudnnLSTM | CudnnGRU | CudnnRNNRelu | CudnnRNNTanh
  forward(input: BackendTensor, params: BackendTensor, isTraining: boolean): Promise<ForwardResult>
  backward(tape: Tape, output: BackendTensor): Promise<BackwardResult>
}

interface ForwardResult {
  readonly output: BackendTensor
  readonly tape: Tape | undefined
  /** Everything to dispose. */
  readonly tensors: readonly BackendTensor[]
}

interface BackwardResult {
  readonly input: BackendTensor
  readonly params: BackendTensor
  readonly tensors: readonly BackendTensor[]
}

const CELLLESS = { gru: CudnnGRU, rnn_relu: CudnnRNNRelu, rnn_tanh: CudnnRNNTanh } as const

/** The model of a workload on `backend`. Throws as the models do. */
export function executorModel(backend: Backend, workload: Workload): ExecutorModel {
  const { cellMode, numLayers, numUnits, inputSize, bidirectional } = workload
  const options = {
    numLayers,
    numUnits,
    inputSize,
    inputMode: 'linear_input',
    direction: bidirectional ? 'bidirectional' : 'unidirectional',
  } as const
  if (cellMode === 'lstm') {
    const model = new CudnnLSTM(backend, options)
    return {
      model,
      forward: async (input, params, isTraining) => {
        const { output, outputH, outputC, tape } = await model.call(input, null, null, params, { isTraining })
        return { output, tape, tensors: [output, outputH, outputC] }
      },
      backward: async (tape, output) => {
        const { input, inputH, inputC, params } = await model.gradients(tape, { output })
        return { input, params, tensors: [input, inputH, inputC, params] }
      },
    }
  }
  const model = new CELLLESS[cellMode](backend, options)
  return {
    model,
    forward: async (input, params, isTraining) => {
      const { output, outputH, tape } = await model.call(input, null, params, { isTraining })
      return { output, tape, tensors: [output, outputH] }
    },
    backward: async (tape, output) => {
      const { input, inputH, params } = await model.gradients(tape, { output })
      return { input, params, tensors: [input, inputH, params] }
    },
  }
}
