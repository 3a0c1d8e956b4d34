// Speed of the reference executor on one core, as floating-point operations of the matrix products per second.
// Run after a build: node packages/reference/bench/flops.mjs
import { createRnnDescriptor, gatesOf } from '@cudnn-rnn/canonical'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { median } from '../../../scripts/bench/statistics.mjs'

const CELLS = ['lstm', 'gru', 'rnn_tanh']
const ROUNDS = 7

const backend = openReferenceBackend()
console.log('cell      B    T    I    H   forward ms  GFLOP/s   training ms  GFLOP/s')
for (const [batch, time, inputs, units] of [
  [32, 32, 64, 128],
  [1, 70, 512, 512],
  [16, 70, 256, 256],
]) {
  for (const cellMode of CELLS) {
    const options = { cellMode, numLayers: 1, numUnits: units, inputSize: inputs, inputMode: 'linear_input' }
    const rnn = backend.rnn(createRnnDescriptor(options))
    const params = { data: new Float32Array(rnn.paramsSize).map((_, i) => 0.05 * Math.sin(i)), shape: [rnn.paramsSize] }
    const input = {
      data: new Float32Array(time * batch * inputs).map((_, i) => Math.cos(i)),
      shape: [time, batch, inputs],
    }
    const run = (training) =>
      rnn.forward({ input, inputH: null, inputC: null, params, sequenceLengths: null, training })
    const times = { forward: [], training: [] }
    for (let round = 0; round < ROUNDS; round++) {
      let began = performance.now()
      await run(false)
      times.forward.push(performance.now() - began)
      began = performance.now()
      const { output, tape } = await run(true)
      await rnn.backward(tape, { output })
      times.training.push(performance.now() - began)
    }
    const flops = 2 * time * batch * gatesOf(cellMode).length * units * (inputs + units)
    const cells = [batch, time, inputs, units].map((size) => String(size).padStart(4)).join(' ')
    const speed = (factor, milliseconds) =>
      `${milliseconds.toFixed(1).padStart(10)} ${((factor * flops) / milliseconds / 1e6).toFixed(2).padStart(8)}`
    // Backward does the products of the forward twice: by data and by weights.
    console.log(
      `${cellMode.padEnd(8)}${cells} ${speed(1, median(times.forward))}   ${speed(3, median(times.training))}`,
    )
  }
}
