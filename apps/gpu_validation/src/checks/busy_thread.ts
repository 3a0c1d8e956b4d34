import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { trainingForward } from '@cudnn-rnn/conformance'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { type CheckContext, type CheckGroup, withSession } from '../check.js'
import { median } from '../median.js'
import { judged, noted, skipped } from '../outcome.js'
import { RawNetwork } from '../raw_network.js'

const CALLS = 400
/** Of a shape whose rounds take a tenth of a second each. */
const CALLS_OF_LARGE = 60
const MOST_MICROSECONDS = 50

/** Section 13, last: how long one call keeps JavaScript's thread from other work; the issue allows 50 µs. */
export const busyThread: CheckGroup = async (context) => {
  const { options, isQuick, report, deadline } = context
  await issuing(context)
  for (const [numUnits, batch] of isQuick
    ? [[16, 2]]
    : [
        [512, 64],
        [512, 1],
        [2048, 256],
      ]) {
    await using backend = await openCudnnBackend(options)
    const shape = { numLayers: 1, numUnits: numUnits, inputSize: numUnits, inputMode: 'linear_input' } as const
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', ...shape }))
    const params = backend.tensor({ data: new Float32Array(rnn.paramsSize).fill(0.01), shape: [rnn.paramsSize] })
    const moments = [backend.zeros([rnn.paramsSize]), backend.zeros([rnn.paramsSize])] as const
    const input = backend.zeros([isQuick ? 5 : 70, batch, numUnits])
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
    const most = numUnits * batch >= 2 ** 19 ? CALLS_OF_LARGE : CALLS
    let rounds = 0
    for (; rounds < most && performance.now() < deadline; rounds++) {
      const one = await clocked('inference', () => rnn.forward({ ...given, training: false }))
      const two = await clocked('training forward', () => trainingForward(rnn, given))
      const gradients = await clocked('backward', () => rnn.backward(two.tape, { output: two.output }))
      const adam = { learningRate: 0, step: rounds + 1 }
      await clocked('update', () => backend.ops.update('adam', params, moments, gradients.params, adam))
      for (const tensor of [...Object.values(one), ...Object.values(two), ...Object.values(gradients)])
        tensor?.dispose()
      // Reading every eighth round keeps the queue at a few steps, so the time in the queue does not enter the figure.
      if (rounds % 8 === 7) await params.read()
    }
    for (const [name, microseconds] of Object.entries(times)) {
      // The first calls make plans, measure algorithms and capture graphs.
      const settled = microseconds.slice(Math.floor(rounds / 4)).sort((a, b) => a - b)
      if (settled.length < 8) {
        report(skipped('13.2', `${name} of LSTM H ${numUnits} B ${batch}`, `no time after ${rounds} rounds`))
        continue
      }
      const at = (share: number) => Math.round(settled[Math.floor(settled.length * share)] * 10) / 10
      const what = `${name} of LSTM H ${numUnits} B ${batch}: µs of JavaScript's thread per call`
      const measured = { median: at(0.5), p90: at(0.9), p99: at(0.99) }
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
