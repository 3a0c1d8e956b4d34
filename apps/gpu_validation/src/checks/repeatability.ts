import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { trainingForward } from '@cudnn-rnn/conformance'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { type CheckGroup, wave } from '../check.js'
import { judged, nameOf, noted } from '../outcome.js'

/** Section 12: twenty runs of one training step, with CUBLAS_WORKSPACE_CONFIG as the process has it. */
export const determinism: CheckGroup = async ({ options, isQuick, report }) => {
  const numUnits = isQuick ? 16 : 512
  const config = process.env['CUBLAS_WORKSPACE_CONFIG'] ?? 'unset'
  for (const cellMode of isQuick ? (['lstm'] as const) : (['lstm', 'gru', 'rnn_tanh', 'rnn_relu'] as const)) {
    for (const algorithm of ['standard', 'persist_static', 'persist_static_small_h'] as const) {
      const what = `${cellMode} H ${numUnits} ${algorithm}, 20 training steps, CUBLAS_WORKSPACE_CONFIG ${config}`
      try {
        await using backend = await openCudnnBackend({ ...options, algorithm })
        const shape = { numLayers: 2, numUnits, inputSize: numUnits, inputMode: 'linear_input' } as const
        const rnn = backend.rnn(createRnnDescriptor({ cellMode, ...shape }))
        const fill = (count: number, scale: number) => Float32Array.from(wave(count, scale))
        const params = backend.tensor({ data: fill(rnn.paramsSize, 0.05), shape: [rnn.paramsSize] })
        const dims = isQuick ? [5, 4, numUnits] : [20, 8, numUnits]
        const input = backend.tensor({ data: fill(dims[0] * dims[1] * numUnits, 1), shape: dims })
        const results = new Set<string>()
        for (let run = 0; run < 20; run++) {
          const inputs = { input, inputH: null, inputC: null, params, sequenceLengths: null }
          const { output, tape } = await trainingForward(rnn, inputs)
          const { params: gradient } = await rnn.backward(tape, { output })
          const { data } = await gradient.read()
          results.add(Buffer.from(data.buffer as ArrayBuffer).toString('base64'))
        }
        report(judged('12.1', what, '1 result', `${results.size} different`, results.size === 1))
      } catch (error) {
        report(noted('12.1', what, nameOf(error)))
      }
    }
  }
}
