import { performance } from 'node:perf_hooks'
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { trainingForward } from '@cudnn-rnn/conformance'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { type CheckContext, type CheckGroup, withSession } from '../check.js'
import { median } from '../median.js'
import { judged, noted, skipped } from '../outcome.js'
import { RawNetwork } from '../raw_network.js'

/** Runs of one loop in a round, few enough for the queue of the device to take them all. */
const RUNS = 8
const MOST_MICROSECONDS = 50

/** Section 13, last: how long one call keeps JavaScript's thread from other work; the issue allows 50 µs. */
export const busyThread: CheckGroup = async (context) => {
  const { options, isQuick, report, deadline } = context
  await issuing(context)
  // Small ones first: V8 takes some hundred calls to compile the way of a call.
  for (const [numUnits, batch, rounds] of isQuick
    ? [[16, 2, 40]]
    : [
        [512, 1, 400],
        [512, 64, 60],
        [2048, 256, 8],
      ]) {
    await using backend = await openCudnnBackend(options)
    const shape = { numLayers: 1, numUnits: numUnits, inputSize: numUnits, inputMode: 'linear_input' } as const
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', ...shape }))
    const params = backend.tensor({ data: new Float32Array(rnn.paramsSize).fill(0.01), shape: [rnn.paramsSize] })
    const moments = [backend.zeros([rnn.paramsSize]), backend.zeros([rnn.paramsSize])] as const
    const input = backend.zeros([isQuick ? 5 : 70, batch, numUnits])
    const given = { input, inputH: null, inputC: null, params, sequenceLengths: null }
    let step = 0
    const loops = {
      inference: async () => {
        const result = await rnn.forward({ ...given, training: false })
        for (const tensor of Object.values(result)) tensor?.dispose()
      },
      'training forward, backward and update': async () => {
        const result = await trainingForward(rnn, given)
        const gradients = await rnn.backward(result.tape, { output: result.output })
        backend.ops.update('adam', params, moments, gradients.params, { learningRate: 0, step: ++step })
        for (const tensor of [...Object.values(result), ...Object.values(gradients)]) tensor?.dispose()
      },
    }
    for (const [name, run] of Object.entries(loops)) {
      const calls = name === 'inference' ? 1 : 3
      const settled: number[] = []
      for (let round = 0; round < rounds && performance.now() < deadline; round++) {
        // Time that the loop spends waiting for the worker is idle: other work of the thread would run in it.
        const before = performance.eventLoopUtilization()
        for (let n = 0; n < RUNS; n++) await run()
        const { active } = performance.eventLoopUtilization(before)
        // The first rounds make plans, measure algorithms and capture graphs.
        if (round >= rounds / 2) settled.push((active * 1000) / (RUNS * calls))
        await params.read()
      }
      const what = `${name} of LSTM H ${numUnits} B ${batch}: µs of JavaScript's thread per call`
      if (settled.length < 4) {
        report(skipped('13.2', what, 'no time was left'))
        continue
      }
      settled.sort((a, b) => a - b)
      const at = (share: number) => Math.round(settled[Math.floor(settled.length * share)] * 10) / 10
      const measured = { median: at(0.5), p90: at(0.9) }
      report(judged('13.2', what, `median below ${MOST_MICROSECONDS}`, measured, measured.median < MOST_MICROSECONDS))
    }
    report(noted('13.2', 'executor', backend.reason))
  }
}

/** How long the worker takes to issue a pass to the device, beside how long the device takes for it. */
const issuing = (context: CheckContext) =>
  withSession(context, async (session) => {
    const { isQuick, report } = context
    for (const batch of isQuick ? [2] : [1, 64]) {
      const numUnits = isQuick ? 16 : 512
      const shape = { cellMode: 'lstm', numLayers: 1, numUnits, inputSize: numUnits, time: isQuick ? 5 : 70 } as const
      using network = await RawNetwork.make(session, { ...shape, batch, training: false })
      await network.prepare()
      await network.run((list) => network.forward(list))
      const issued: number[] = []
      const done: number[] = []
      for (let n = 0; n < 20; n++) {
        const began = performance.now()
        const list = session.list('issue')
        network.forward(list)
        await session.run(list)
        issued.push((performance.now() - began) * 1000)
        await network.run(() => {})
        done.push((performance.now() - began) * 1000)
      }
      const measured = { issued: Math.round(median(issued)), done: Math.round(median(done)) }
      report(
        noted(
          '13.5',
          `LSTM H ${numUnits} B ${batch}, standard, without a graph: µs until issued and until done`,
          measured,
        ),
      )
    }
  })
