// Uses the addon without the package, in a separate process or worker: queues a long pass, and exits immediately or awaits it.
import { createRequire } from 'node:module'
import { argv, env } from 'node:process'

// A report of a thread ends Node.js under wine.
const libc = () => (process.report.getReport().header.glibcVersionRuntime === undefined ? '-musl' : '-gnu')
const triple = `${process.platform}-${process.arch}${process.platform === 'linux' ? libc() : ''}`
const name = process.platform === 'linux' ? triple : `${process.platform}-${process.arch}`
const addon = createRequire(import.meta.url)(
  env.CUDNN_RNN_CPU_ADDON || `../../../native/cpu/prebuilds/${name}/cudnn_rnn_cpu.node`,
)
const size = { time: 200, batch: 8, units: 256 }
// An LSTM of one layer with both biases: packages/ops/src/executor/kernels/network_numbers.ts.
const numbers = Float64Array.of(0, 1, 1, size.units, size.units, 0, 0, 1, 1, Number.POSITIVE_INFINITY, 0, 0)
const executor = new addon.NativeExecutor(addon.instructionSets()[0], 2, false)
const network = new addon.NativeNetwork(executor, numbers)
const zeros = (length) => new Float32Array(length)
let job = 0
for (let k = 0; k < 4; k++) {
  const output = zeros(size.time * size.batch * size.units)
  const [hFinal, cFinal] = [zeros(size.batch * size.units), zeros(size.batch * size.units)]
  const given = [network, size.time, size.batch, zeros(output.length), null, null, zeros(network.paramsSize())]
  job = executor.forward(...given, null, null, 0, output, hFinal, cFinal, null, false)
}
if (argv[2] === 'awaited') {
  await executor.done(job)
  console.log('done')
}
