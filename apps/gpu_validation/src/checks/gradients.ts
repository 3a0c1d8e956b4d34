import { createRnnDescriptor, flatLayout } from '@cudnn-rnn/canonical'
import { CudnnError, openCudnnBackend } from '@cudnn-rnn/cudnn'
import { type CheckGroup, distance, wave, withSession } from '../check.js'
import { judged, nameOf, noted } from '../outcome.js'
import { RawNetwork } from '../raw_network.js'

const SHAPE = { cellMode: 'lstm', numLayers: 2, numUnits: 16, inputSize: 8, time: 6, batch: 4 } as const

/** Section 8: backward calls that are issued twice, and their effect on the outputs. */
export const gradients: CheckGroup = (context) =>
  withSession(context, async (session) => {
    const { report } = context
    for (const algorithm of ['standard', 'persist_static', 'persist_static_small_h'] as const) {
      using network = await RawNetwork.make(session, { ...SHAPE, algorithm })
      const { sizes } = network
      await network.set({ x: wave(sizes.x, 1), params: wave(sizes.params, 0.3, 0.77), dy: wave(sizes.y, 0.7, 0.43) })
      try {
        await network.run((list) => network.forward(list))
        await network.run((list) => network.backwardData(list))
        await network.run((list) => network.backwardWeights(list))
        const once = (await network.get('dw'))['dw']
        await network.run((list) => network.forward(list))
        await network.run((list) => network.backwardData(list))
        await network.run((list) => network.backwardWeights(list))
        const twice = (await network.get('dw'))['dw']
        const off = distance(
          twice,
          once.map((value) => 2 * value),
        )
        report(judged('8.2', `${algorithm}: two weight gradients into one buffer`, 'their sum', off, off < 1e-5))
      } catch (error) {
        report(noted('8.2', `${algorithm}: a training step`, nameOf(error)))
      }
      const SET = 1
      const status = await network
        .run((list) => network.forward(list))
        .then(() => network.run((list) => network.backwardData(list)))
        .then(() => network.run((list) => network.backwardWeights(list, SET)))
        .then(() => 'accepted', nameOf)
      // 9.24 refuses it; the executor never uses it.
      report(noted('8.1', `${algorithm}: CUDNN_WGRAD_SET`, status))
    }
  })

/** Section 8, last: the reserve space used twice, which cuDNN leaves undefined. Runs in a separate process. */
export const reserveTwice: CheckGroup = (context) =>
  withSession(context, async (session) => {
    using network = await RawNetwork.make(session, SHAPE)
    const { sizes } = network
    await network.set({ x: wave(sizes.x, 1), params: wave(sizes.params, 0.3, 0.77), dy: wave(sizes.y, 0.7, 0.43) })
    await network.run((list) => network.forward(list))
    await network.run((list) => network.backwardData(list))
    const first = (await network.get('dx'))['dx']
    const answer = await network
      .run((list) => network.backwardData(list))
      .then(async () => (distance((await network.get('dx'))['dx'], first) === 0 ? 'the same dx' : 'another dx'), nameOf)
    context.report(noted('8.3', 'a second backward of data on one reserve space', answer))
  })

/** Section 9: the longest sequence, and a weight space beyond 2^31 elements. */
export const limits: CheckGroup = async (context) => {
  const { report, isQuick, options } = context
  await withSession(context, async (session) => {
    const shape = { cellMode: 'gru', numLayers: 1, numUnits: 2, inputSize: 2, batch: 1 } as const
    for (const [time, expected] of [
      [65_535, 'works'],
      [65_536, 'refused'],
    ] as const) {
      const answer = await longPass(time)
      const holds = (answer === 'works') === (expected === 'works')
      report(judged('9.1', `T = ${time}`, expected, answer, holds))
    }
    async function longPass(time: number) {
      try {
        using network = await RawNetwork.make(session, { ...shape, time, training: false })
        await network.run((list) => network.forward(list))
        return 'works'
      } catch (error) {
        return nameOf(error)
      }
    }
  })
  const refusal = (() => {
    try {
      flatLayout(
        createRnnDescriptor({
          cellMode: 'lstm',
          numLayers: 4,
          numUnits: 8192,
          inputSize: 8192,
          inputMode: 'linear_input',
        }),
      )
      return 'accepted'
    } catch (error) {
      return nameOf(error)
    }
  })()
  report(judged('9.2', '2^31 matrix elements', 'ERR_PARAMS_TOO_LARGE', refusal, refusal === 'ERR_PARAMS_TOO_LARGE'))

  await using backend = await openCudnnBackend(options)
  const share = isQuick ? 2 : 0.9
  const elements = Math.floor((backend.device.totalBytes * share) / 4)
  const answer = await (async () => {
    const held = [backend.zeros([Math.floor(elements / 2)]), backend.zeros([Math.floor(elements / 2)])]
    const more = backend.zeros([Math.floor(elements / 2)])
    try {
      // A scalar that depends on it: an array of its size would not fit into one of the host's.
      await backend.ops.globalNorm([more]).read()
      return 'it fits'
    } catch (error) {
      if (!(error instanceof CudnnError)) return nameOf(error)
      return { code: error.code, requestedBytes: error.requestedBytes, freeBytes: error.freeBytes }
    } finally {
      for (const tensor of [...held, more]) tensor.dispose()
    }
  })()
  const isCoded = typeof answer === 'object' && answer.code === 'ERR_OUT_OF_DEVICE_MEMORY'
  report(judged('9.3', 'more memory than there is', 'ERR_OUT_OF_DEVICE_MEMORY with its sizes', answer, isCoded))
  const after = [...(await backend.zeros([2]).read()).data].join(' ')
  report(judged('9.3', 'the executor after that', 'works', after, after === '0 0'))
}
