import type { Arithmetic, CommandList, DeviceSession } from '@cudnn-rnn/cudnn/validation'
import { type CheckGroup, distance, openSession, wave, withSession } from '../check.js'
import { judged, nameOf, noted } from '../outcome.js'
import { RawNetwork, type RawOptions } from '../raw_network.js'

const SHAPE = { cellMode: 'lstm', numLayers: 2, numUnits: 64, inputSize: 32, time: 10, batch: 8 } as const

/** Section 10: which passes can be captured into a CUDA graph, and what their replays compute. */
export const capture: CheckGroup = (context) =>
  withSession(context, async (session) => {
    const { isQuick, report } = context
    const precisions: readonly Arithmetic['precision'][] = ['float32', 'tf32', 'float16', 'bfloat16', 'float64']
    for (const algorithm of ['standard', 'persist_static', 'persist_static_small_h'] as const) {
      for (const precision of precisions) {
        for (const cellMode of isQuick ? (['lstm'] as const) : (['lstm', 'gru', 'rnn_tanh'] as const)) {
          for (const training of [false, true]) {
            if (precision === 'float64' && algorithm !== 'standard') continue
            const options = { ...SHAPE, cellMode, algorithm, precision, training }
            const what = `${algorithm} ${cellMode} ${precision} ${training ? 'training step' : 'inference'}: captured and replayed twice`
            const answer = await replayed(session, options)
            const expected = 'the bits of the calls'
            if (algorithm === 'standard') report(judged('10.1', what, expected, answer, answer === expected))
            else report(noted('10.1', what, answer))
          }
        }
      }
    }
    await dropout(session, report)
    await ragged(session, report)
    await beside(session, context)
  })

async function replayed(session: DeviceSession, options: RawOptions): Promise<string> {
  const names = options.training ? ['y', 'hy', 'dx', 'dw'] : ['y', 'hy']
  try {
    using network = await RawNetwork.make(session, options)
    const { sizes } = network
    await network.prepare()
    await network.set({ x: wave(sizes.x, 1), params: wave(sizes.params, 0.3, 0.77), dy: wave(sizes.y, 0.7, 0.43) })
    const step = (list: CommandList) => network.step(list)
    const clear = () => network.set(Object.fromEntries(names.map((name) => [name, zeros(network, name)])))
    // cuDNN loads kernels at the first call, and loading is not allowed during a capture.
    await network.run(step)
    await clear()
    await network.run(step)
    const expected = await network.get(...names)
    const graph = await network.captured(step)
    try {
      for (let replay = 0; replay < 2; replay++) {
        await clear()
        await network.replay(graph)
        const results = await network.get(...names)
        const wrong = names.filter((name) => distance(results[name], expected[name]) !== 0)
        if (wrong.length > 0) return `other ${wrong.join(', ')} in replay ${replay + 1}`
      }
    } finally {
      session.destroy(graph)
    }
    return 'the bits of the calls'
  } catch (error) {
    return nameOf(error)
  }
}

function zeros({ sizes }: RawNetwork, name: string): Float64Array {
  const counts: Record<string, number> = { y: sizes.y, hy: sizes.h, dx: sizes.x, dw: sizes.params }
  return new Float64Array(counts[name])
}

/** A dropout generator in the graph advances from replay to replay. */
async function dropout(session: DeviceSession, report: Parameters<CheckGroup>[0]['report']) {
  const what = 'a training step with dropout 0.5, captured and replayed three times'
  try {
    using network = await RawNetwork.make(session, { ...SHAPE, dropout: 0.5 })
    await network.prepare()
    await network.set({ x: wave(network.sizes.x, 1), params: wave(network.sizes.params, 0.3, 0.77) })
    const step = (list: CommandList) => network.step(list)
    await network.run(step)
    const graph = await network.captured(step)
    const results = new Set<string>()
    for (let replay = 0; replay < 3; replay++) {
      await network.replay(graph)
      const { y, dw } = await network.get('y', 'dw')
      results.add(`${y.join()} ${dw.join()}`)
    }
    session.destroy(graph)
    report(judged('10.2', what, '3 different results', results.size, results.size === 3))
  } catch (error) {
    report(judged('10.2', what, '3 different results', nameOf(error), false))
  }
}

/** Whether a replayed pass keeps the lengths of its rows, after passes of other lengths whose descriptors were destroyed. */
async function ragged(session: DeviceSession, report: Parameters<CheckGroup>[0]['report']) {
  const expected = 'the bits of the calls'
  for (const training of [false, true]) {
    const what = `rows of unequal length, ${training ? 'training step' : 'inference'}: captured, replayed after other lengths`
    try {
      using network = await RawNetwork.make(session, { ...SHAPE, training, lengths: [10, 9, 1, 4, 6, 2, 3, 10] })
      await network.prepare()
      await network.set({ x: wave(network.sizes.x, 1), params: wave(network.sizes.params, 0.3, 0.77) })
      const step = (list: CommandList) => network.step(list)
      await network.run(step)
      const names = training ? ['y', 'hy', 'dx', 'dw'] : ['y', 'hy']
      const bits = async () => JSON.stringify(Object.values(await network.get(...names)).map((values) => [...values]))
      const called = await bits()
      const graph = await network.captured(step)
      {
        using other = await RawNetwork.make(session, { ...SHAPE, training, lengths: [1, 2, 3, 4, 5, 6, 7, 8] })
        await other.prepare()
        await other.run((list) => other.forward(list))
      }
      await network.replay(graph)
      const replayed = await bits()
      session.destroy(graph)
      const answer = replayed === called ? expected : 'other numbers: it read the lengths of the other pass'
      // The executor tries the same, and falls back to calls.
      report(noted('10.4', what, answer))
    } catch (error) {
      report(noted('10.4', what, nameOf(error)))
    }
  }
}

/** A thread's capture leaves the allocations, copies and waits of others alone. */
async function beside(session: DeviceSession, context: Parameters<CheckGroup>[0]) {
  const { report, isQuick } = context
  const other = await openSession(context)
  const what = 'captures while another thread allocates, copies and waits'
  try {
    using network = await RawNetwork.make(session, { ...SHAPE, training: false })
    using neighbor = await RawNetwork.make(other, { ...SHAPE, training: false })
    await network.prepare()
    await network.run((list) => network.forward(list))
    const rounds = isQuick ? 5 : 50
    for (let round = 0; round < rounds; round++) {
      const [graph] = await Promise.all([
        network.captured((list) => network.forward(list)),
        neighbor.set({ x: wave(neighbor.sizes.x, 1) }).then(() => neighbor.run((list) => neighbor.forward(list))),
        RawNetwork.make(other, { ...SHAPE, training: false }).then(async (made) => {
          await made.prepare()
          made.dispose()
        }),
      ])
      session.destroy(graph)
    }
    report(judged('10.3', what, 'no error', `${rounds} rounds`, true))
  } catch (error) {
    report(judged('10.3', what, 'no error', nameOf(error), false))
  } finally {
    await other.close()
  }
}
