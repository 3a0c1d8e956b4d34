import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import type { CudnnBackend } from '../src/cudnn_backend.js'

/** A two-layer LSTM with everything a training step needs. */
export function smallLstm(backend: CudnnBackend, { units = 8, time = 5, batch = 3 } = {}) {
  const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: units, inputSize: 4 })
  const rnn = backend.rnn(descriptor)
  const params = backend.tensor({ data: new Float32Array(rnn.paramsSize).fill(0.1), shape: [rnn.paramsSize] })
  const input = { data: new Float32Array(time * batch * 4).fill(1), shape: [time, batch, 4] }
  const states = { inputH: null, inputC: null, sequenceLengths: null }
  return {
    rnn,
    params,
    forward: (training = true) => rnn.forward({ input, params, training, ...states }),
    async step() {
      const { output, outputH, outputC, tape } = await this.forward()
      const gradients = await rnn.backward(tape!, { output })
      backend.ops.update('sgd', params, [], gradients.params, { learningRate: 0.01 })
      for (const tensor of [output, outputH, outputC, ...Object.values(gradients)]) tensor?.dispose()
    },
  }
}
