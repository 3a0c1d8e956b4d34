import { LSTMCell, UGRNNCell } from '@cudnn-rnn/cells'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  apply,
  concat,
  conv1d,
  cudnnGRU,
  cudnnLSTM,
  dense,
  dropout,
  embedding,
  functional,
  input,
  type LayerDefinition,
  lastStep,
  layerNorm,
  maxOverTime,
  meanOverTime,
  merge,
  reverse,
  rnn,
  sequential,
} from '../../src/index.js'
import { waves } from '../small_data.js'

const dtype = 'float64' as const
const [B, I] = [2, 3] as const

/** Layers that carry states between steps in every way: models, cells, windows, and branches of them. */
const LAYERS: Readonly<Record<string, () => readonly LayerDefinition[]>> = {
  'a recurrent model': () => [cudnnLSTM({ numUnits: 2 })],
  'a cell': () => [rnn(new LSTMCell(2, { dtype }))],
  'a causal convolution': () => [conv1d({ filters: 2, kernelSize: 3, padding: 'causal' })],
  ...Object.fromEntries(
    [lastStep, meanOverTime, maxOverTime].map((pooling) => [
      pooling.name,
      () => [cudnnGRU({ numUnits: 2 }), pooling(), dense({ units: 1 })],
    ]),
  ),
  branches: () => [concat([cudnnGRU({ numUnits: 2 }), [rnn(new UGRNNCell(2, { dtype })), layerNorm()], []])],
}

async function withStream(
  layers: readonly LayerDefinition[],
  use: (stream: ReturnType<ReturnType<typeof sequential>['stream']>) => Promise<void>,
): Promise<void> {
  using backend = openReferenceBackend({ dtype })
  using model = sequential(backend, layers, { inputSize: I, seed: 3 })
  const before = backend.stats()
  const stream = model.stream({ batch: B })
  await use(stream)
  stream.dispose()
  expect(backend.stats()).toEqual(before)
}

const x = (k: number) => waves([B, I], [0.8, 0.37, k])
const rowOf = ({ data }: { readonly data: ArrayLike<number> }, row: number) => {
  const columns = data.length / B
  return Array.from(data).slice(row * columns, (row + 1) * columns)
}

test.each(['lastStep', 'meanOverTime', 'maxOverTime'])(
  'a stream of %s gives at each step the result of the sequence so far',
  async (name) => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, LAYERS[name]?.() ?? [], { inputSize: I, seed: 3 })
    const input = waves([5, B, I], [0.8, 0.37, 1])
    const running = await model.stream({ batch: B }).step(input)
    expect(running.shape).toEqual([5, B, 1])
    for (let T = 1; T <= 5; T++) {
      const { data } = await model.predict(input, { sequenceLengths: Array(B).fill(T) })
      expect([...running.data].slice((T - 1) * B, T * B)).toEqual([...data].map((value) => expect.closeTo(value, 12)))
    }
  },
)

describe.each(Object.entries(LAYERS))('a stream of %s', (_, layers) => {
  test('gives the same for T steps in one call as in T calls', () =>
    withStream(layers(), async (stream) => {
      const steps = [x(1), x(2), x(3)]
      const single: number[] = []
      for (const step of steps) single.push(...(await stream.step(step)).data)
      stream.reset()
      const all = { data: Float64Array.from(steps.flatMap(({ data }) => [...data])), shape: [3, B, I] }
      const together = await stream.step(all)
      expect(together.shape.slice(0, 2)).toEqual([3, B])
      for (const [k, value] of single.entries()) expect(together.data[k]).toBeCloseTo(value, 13)
    }))

  test('zeroes the rows that are named, and leaves the others', () =>
    withStream(layers(), async (stream) => {
      const fresh = await stream.step(x(1))
      await stream.step(x(2))
      const state = await stream.state()
      const continued = await stream.step(x(1))
      stream.restore(state)
      stream.reset([1, 1])
      const half = await stream.step(x(1))
      expect(rowOf(half, 0)).toEqual(rowOf(continued, 0))
      expect(rowOf(half, 1)).toEqual(rowOf(fresh, 1))
      stream.reset([])
      await stream.step(x(2))
      stream.reset([0, 1])
      expect(await stream.step(x(1))).toEqual(fresh)
    }))

  test.each([[[B]], [[-1]], [[0, 0.5]], [[0, Number.NaN]], ['01'], [0], [null]])(
    'refuses the rows %o, and zeroes none',
    (rows) =>
      withStream(layers(), async (stream) => {
        await stream.step(x(1))
        const state = await stream.state()
        const expected = await stream.step(x(2))
        stream.restore(state)
        expect(() => stream.reset(rows as never)).toThrow(coded('ERR_STREAM_ROW'))
        expect(await stream.step(x(2))).toEqual(expected)
      }),
  )

  test('has copies as states: later steps do not change them, and writing to them does not change the stream', () =>
    withStream(layers(), async (stream) => {
      await stream.step(x(1))
      const state = await stream.state()
      const kept = structuredClone(state)
      const expected = await stream.step(x(2))
      expect(state).toEqual(kept)
      stream.restore(state)
      const erase = (value: unknown): void => {
        if (ArrayBuffer.isView(value)) (value as Float64Array).fill(9)
        else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) erase(part)
      }
      erase(state)
      expect(await stream.step(x(2))).toEqual(expected)
    }))

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['an object', {}],
    ['a list of none', []],
    ['a list of too many', [null, null, null, null]],
  ])('refuses %s as a state, and continues as before', (_name, wrong) =>
    withStream(layers(), async (stream) => {
      await stream.step(x(1))
      const state = await stream.state()
      const expected = await stream.step(x(2))
      stream.restore(state)
      expect(() => stream.restore(wrong)).toThrow(coded('ERR_LAYER_STATES'))
      expect(await stream.step(x(2))).toEqual(expected)
    }),
  )
})

describe('the state of a cell', () => {
  test.each<[string, string, unknown]>([
    ['one tensor for two', 'ERR_LAYER_STATES', [waves([B, 2])]],
    ['no list', 'ERR_LAYER_STATES', { c: waves([B, 2]), h: waves([B, 2]) }],
    ['tensors of other rows', 'ERR_SHAPE', [waves([B, 2]), waves([B + 1, 2])]],
    ['tensors of other columns', 'ERR_SHAPE', [waves([B, 2]), waves([B, 3])]],
    ['another dtype', 'ERR_DTYPE', [waves([B, 2]), { data: new Float32Array(2 * B), shape: [B, 2] }]],
    ['numbers', 'ERR_NOT_A_TENSOR', [1, 2]],
  ])('is refused as %s', (_, code, wrong) =>
    withStream([rnn(new LSTMCell(2, { dtype }))], async (stream) => {
      await stream.step(x(1))
      const state = await stream.state()
      expect(() => stream.restore([wrong])).toThrow(coded(code))
      expect(await stream.state()).toEqual(state)
    }),
  )
})

describe('ModelStream', () => {
  test('runs steps in the order of their calls, and copies their inputs at the call', () =>
    withStream(LAYERS['a cell'](), async (stream) => {
      const expected = [await stream.step(x(1)), await stream.step(x(2))]
      stream.reset()
      const reused = x(1)
      const first = stream.step(reused)
      reused.data.set(x(2).data)
      const second = stream.step(reused)
      reused.data.fill(7)
      expect(await Promise.all([first, second])).toEqual(expected)
    }))

  test.each([
    ['a causal convolution', conv1d({ filters: 2, kernelSize: 3, padding: 'causal' })],
    ['a mean', meanOverTime()],
    ['a network', cudnnLSTM({ numUnits: 2 })],
    ['a cell', rnn(new LSTMCell(2, { dtype }))],
  ])('refuses more streams of %s than there is memory', (_, each) => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [each], { inputSize: I })
    expect(() => model.stream({ batch: 2 ** 45 })).toThrow(coded('ERR_OUT_OF_MEMORY'))
  })

  test('restores a state whole or not at all', () =>
    withStream(
      [conv1d({ filters: 2, kernelSize: 3, padding: 'causal' }), cudnnLSTM({ numUnits: 2 })],
      async (stream) => {
        await stream.step(x(1))
        const earlier = (await stream.state()) as readonly object[]
        await stream.step(x(2))
        const before = await stream.state()
        const { proxy, revoke } = Proxy.revocable([], {})
        revoke()
        const fails = () => {
          throw new Error('a getter')
        }
        for (const wrong of [
          { ...earlier[1], h: waves([1, B, 3]) },
          Object.defineProperty({}, 'h', { get: fails }),
          proxy,
        ]) {
          expect(() => stream.restore([earlier[0], wrong])).toThrow(
            coded(expect.stringMatching(/^ERR_(SHAPE|NOT_A_STATE)$/)),
          )
        }
        expect(() => stream.restore(proxy)).toThrow(coded('ERR_LAYER_STATES'))
        expect(await stream.state()).toEqual(before)
      },
    ))

  test('refuses reset and restore while a step is running, and allows them after it', () =>
    withStream(LAYERS['a cell'](), async (stream) => {
      const state = await stream.state()
      const step = stream.step(x(1))
      expect(() => stream.reset()).toThrow(coded('ERR_STREAM_BUSY'))
      expect(() => stream.restore(state)).toThrow(coded('ERR_STREAM_BUSY'))
      const fresh = await step
      stream.restore(state)
      expect(await stream.step(x(1))).toEqual(fresh)
    }))

  test.each<[string, string, () => unknown]>([
    ['other columns', 'ERR_SHAPE', () => waves([B, I + 1])],
    ['other rows', 'ERR_SHAPE', () => waves([B + 1, I])],
    ['a vector', 'ERR_SHAPE', () => waves([I])],
    ['a batch of batches', 'ERR_SHAPE', () => waves([1, 1, B, I])],
    ['another dtype', 'ERR_DTYPE', () => ({ data: new Float32Array(B * I), shape: [B, I] })],
    ['numbers', 'ERR_NOT_A_TENSOR', () => [1, 2, 3]],
  ])('refuses a step of %s, and keeps its state', (_, code, input) =>
    withStream(LAYERS['a cell'](), async (stream) => {
      await stream.step(x(1))
      const state = await stream.state()
      await expect(stream.step(input() as never)).rejects.toThrow(coded(code))
      expect(await stream.state()).toEqual(state)
      stream.reset()
    }),
  )

  test('takes tensors of the executor, and leaves them to the caller', async () => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [dense({ units: 2 })], { inputSize: I, seed: 1 })
    using stream = model.stream({ batch: B })
    using input = backend.tensor(x(1))
    const before = backend.stats()
    expect(await stream.step(input)).toEqual(await stream.step(x(1)))
    expect(input.disposed).toBe(false)
    expect(backend.stats()).toEqual(before)
  })

  test('steps class ids without their last dimension, and drops nothing', async () => {
    using backend = openReferenceBackend({ dtype })
    const table = { data: Float64Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] }
    const layers = [embedding({ size: 3, units: 2, initializer: table }), dropout({ rate: 1 })]
    using model = sequential(backend, layers)
    using stream = model.stream({ batch: 2 })
    const ids = (shape: readonly number[], ...data: number[]) => ({ data: Int32Array.from(data), shape })
    expect(await stream.step(ids([2], 2, 0))).toEqual({ data: Float64Array.of(5, 6, 1, 2), shape: [2, 2] })
    expect(await stream.step(Int32Array.of(2, 0))).toEqual({ data: Float64Array.of(5, 6, 1, 2), shape: [2, 2] })
    expect((await stream.step(ids([2, 2], 1, 1, 0, 2))).shape).toEqual([2, 2, 2])
    await expect(stream.step(ids([2], 0, 3))).rejects.toThrow(coded('ERR_ID_OUT_OF_RANGE'))
    await expect(stream.step(x(1))).rejects.toThrow(coded('ERR_DTYPE'))
  })

  test('serves models without a time axis', async () => {
    using backend = openReferenceBackend({ dtype })
    const kernelInitializer = { data: Float64Array.of(1, 10, 100), shape: [3, 1] }
    using model = sequential(backend, [dense({ units: 1, kernelInitializer })], { inputSize: I, isSequence: false })
    using stream = model.stream({ batch: 1 })
    const y = await stream.step({ data: Float64Array.of(1, 2, 3), shape: [1, 3] })
    expect(y).toEqual({ data: Float64Array.of(321), shape: [1, 1] })
  })

  test('refuses everything once it was disposed, and may be disposed twice', () =>
    withStream(LAYERS['a recurrent model'](), async (stream) => {
      const state = await stream.state()
      stream.dispose()
      stream.dispose()
      await expect(stream.step(x(1))).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
      await expect(stream.state()).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
      expect(() => stream.reset()).toThrow(coded('ERR_STREAM_DISPOSED'))
      expect(() => stream.restore(state)).toThrow(coded('ERR_STREAM_DISPOSED'))
    }))

  test.each([
    [0, 'ERR_INVALID_OPTION'],
    [-1, 'ERR_INVALID_OPTION'],
    [1.5, 'ERR_INVALID_OPTION'],
    [Number.NaN, 'ERR_INVALID_OPTION'],
    ['2', 'ERR_INVALID_OPTION_TYPE'],
    [null, 'ERR_INVALID_OPTION_TYPE'],
  ])('is not opened for a batch of %o (%s)', (batch, code) => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [dense({ units: 1 })], { inputSize: I })
    expect(() => model.stream({ batch: batch as never })).toThrow(coded(code))
    expect(() => model.stream({ rows: 2 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
  })

  test('is not opened through a layer that needs the whole sequence, whose name the error has', () => {
    using backend = openReferenceBackend({ dtype })
    const layers = [cudnnGRU({ numUnits: 2 }), reverse({ name: 'end' })]
    using model = sequential(backend, layers, { inputSize: I })
    const before = backend.stats()
    expect(() => model.stream()).toThrow(coded('ERR_NO_STREAM', { layer: 'end' }))
    expect(backend.stats()).toEqual(before)
  })
})

describe('a stream of several inputs and outputs', () => {
  const values = { sound: waves([5, B, I], [0.8, 0.37, 1]), speaker: waves([B, 2], [0.5, 0.7, 2]) }

  async function withStreamOfTwo(use: (model: ReturnType<typeof modelOfTwo>) => Promise<void>) {
    using backend = openReferenceBackend({ dtype })
    const before = backend.stats()
    const model = modelOfTwo(backend)
    await use(model)
    model.dispose()
    expect(backend.stats()).toEqual(before)
  }

  function modelOfTwo(backend: ReturnType<typeof openReferenceBackend>) {
    const [sound, speaker] = [input('sound', { features: I }), input('speaker', { features: 2, isSequence: false })]
    const heard = apply(cudnnGRU({ numUnits: 3 }), sound)
    const last = apply(lastStep(), heard)
    const pitch = apply(dense({ units: 1 }), merge('concat', [last, apply(dense({ units: 2 }), speaker)]))
    return functional(backend, [sound, speaker], { pitch, again: pitch, heard }, { seed: 3 })
  }

  const stepAt = (k: number) => ({ data: values.sound.data.slice(k * B * I, (k + 1) * B * I), shape: [B, I] })
  const close = ({ data }: { readonly data: ArrayLike<number> }) => Array.from(data, (each) => expect.closeTo(each, 12))

  test('gives at each step the outputs of the sequences so far', () =>
    withStreamOfTwo(async (model) => {
      using stream = model.stream({ batch: B })
      using whole = model.stream({ batch: B })
      const all = await whole.step(values)
      expect(all['pitch']?.shape).toEqual([5, B, 1])
      for (let k = 0; k < 5; k++) {
        const { pitch, again, heard } = await stream.step({ ...values, sound: stepAt(k) })
        const sequenceLengths = { sound: Array(B).fill(k + 1) as number[] }
        const expected = await model.predict(values, { sequenceLengths })
        expect(pitch?.shape).toEqual([B, 1])
        expect([...pitch!.data]).toEqual(close(expected.pitch))
        expect([...again!.data]).toEqual([...pitch!.data])
        expect([...all['pitch']!.data.slice(k * B, (k + 1) * B)]).toEqual(close(expected.pitch))
        expect([...heard!.data]).toEqual(close({ data: expected.heard.data.slice(k * B * 3, (k + 1) * B * 3) }))
      }
    }))

  test('refuses other names, and steps of other numbers', () =>
    withStreamOfTwo(async (model) => {
      using stream = model.stream({ batch: B })
      await expect(stream.step(values.sound)).rejects.toThrow(coded('ERR_MODEL_INPUTS'))
      await expect(stream.step({ sound: values.sound })).rejects.toThrow(coded('ERR_MODEL_INPUTS'))
      const twice = { data: new Float64Array(5 * B * 2), shape: [5, B, 2] }
      await expect(stream.step({ sound: stepAt(0), speaker: twice })).rejects.toThrow(coded('ERR_SHAPE'))
    }))
})
