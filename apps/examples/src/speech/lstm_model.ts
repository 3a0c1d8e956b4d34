import { type Backend, CudnnLSTM, type ImportedNetwork } from '@cudnn-rnn/rnn'

/** The model of a descriptor. */
export function lstmOf(backend: Backend, descriptor: ImportedNetwork['descriptor']): CudnnLSTM {
  const { numLayers, numUnits, inputSize, inputMode } = descriptor
  return new CudnnLSTM(backend, { numLayers, numUnits, inputSize, inputMode })
}
