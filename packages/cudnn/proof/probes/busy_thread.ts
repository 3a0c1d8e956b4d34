import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { openCudnnBackend } from '../../src/index.js'
import { judged, noted } from '../outcome.js'
import type { ProbeGroup } from '../probe.js'

const CALLS = 400
const MOST_MICROSECONDS = 50

/** Chapter 13, last: how long one call keeps JavaScript's thread from other work; the issue allows 50 µs. */
export const busyThread: ProbeGroup = async ({ options, isQuick, report }) => {
  for (const [numUnits, batch] of isQuick
    ? [[16, 2]]
    : [
        [512, 64],
        [512, 1],
        [2048, 256],
      ]) {
    await using backend = await openCudnnBackend(options)
    const shape = { numLayers: 1, numUnits: numUnits!, inputSize: numUnits!, inputMode: 'linear_input' } as const
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', ...shape }))
    const params = backend.tensor({ data: new Float32Array(rnn.paramsSize).fill(0.01), shape: [rnn.paramsSize] })
    const moments = [backend.zeros([rnn.paramsSize]), backend.zeros([rnn.paramsSize])] as const
    const input = backend.zeros([isQuick ? 5 : 70, batch!, numUnits!])
    const given = { input, inputH: null, inputC: null, params, sequenceLengths: null }
    const times: Record<string, number[]> = {}
    /** The call itself, and the rest of it that runs on this thread before its promise settles. */
    const clocked = async <Result>(name: string, call: () => Promise<Result> | Result): Promise<Result> => {
      const began = performance.now()
      const result = await call()
      times[name] ??= []
      times[name].push((performance.now() - began) * 1000)
      return result
    }
    for (let n = 0; n < CALLS; n++) {
      const one = await clocked('inference', () => rnn.forward({ ...given, training: false }))
      const two = await clocked('training forward', () => rnn.forward({ ...given, training: true }))
      const gradients = await clocked('backward', () => rnn.backward(two.tape!, { output: two.output }))
      const adam = { learningRate: 0, step: n + 1 }
      await clocked('applyAdam', () => backend.ops.applyAdam(params, ...moments, gradients.params, adam))
      for (const tensor of [...Object.values(one), ...Object.values(two), ...Object.values(gradients)])
        tensor?.dispose()
      // The queue is never longer than a few steps: what waits in it is not what is measured.
      if (n % 8 === 7) await params.read()
    }
    for (const [name, microseconds] of Object.entries(times)) {
      // The first calls make plans, measure algorithms and capture graphs.
      const settled = microseconds.slice(CALLS / 4).sort((a, b) => a - b)
      const at = (share: number) => Math.round(settled[Math.floor(settled.length * share)]! * 10) / 10
      const what = `${name} of LSTM H ${numUnits} B ${batch}: µs of JavaScript's thread per call`
      const measured = { median: at(0.5), p90: at(0.9), p99: at(0.99) }
      report(judged('13.2', what, `median below ${MOST_MICROSECONDS}`, measured, measured.median < MOST_MICROSECONDS))
    }
    report(noted('13.2', 'executor', backend.reason))
  }
}
