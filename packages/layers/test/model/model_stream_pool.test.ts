import { LSTMCell, UGRNNCell } from '@cudnn-rnn/cells'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  apply,
  concat,
  conv1d,
  cudnnGRU,
  cudnnLSTM,
  dense,
  embedding,
  functional,
  input,
  type LayerDefinition,
  lastStep,
  layerNorm,
  maxOverTime,
  meanOverTime,
  merge,
  rnn,
  sequential,
  timeDistributed,
} from '../../src/index.js'
import { waves } from '../small_data.js'

const I = 3
const dtype = 'float64' as const

/** Layers that carry states in every way. */
const LAYERS: Readonly<Record<string, () => readonly LayerDefinition[]>> = {
  'recurrent models': () => [cudnnLSTM({ numUnits: 2, numLayers: 2 }), dense({ units: 4 })],
  'a cell': () => [rnn(new LSTMCell(2, { dtype }))],
  'a causal convolution': () => [conv1d({ filters: 2, kernelSize: 3, padding: 'causal' }), cudnnGRU({ numUnits: 2 })],
  'the newest step': () => [cudnnGRU({ numUnits: 2 }), lastStep(), dense({ units: 1 })],
  'running means': () => [meanOverTime()],
  'running maxima': () => [cudnnGRU({ numUnits: 2 }), maxOverTime()],
  branches: () => [
    concat([cudnnGRU({ numUnits: 2 }), [rnn(new UGRNNCell(2, { dtype })), timeDistributed(layerNorm())], []]),
  ],
}

/** Steps four streams of a pool in drawn groups, with resets, and compares each with a single stream. */
async function compare(backend: Backend, layers: readonly LayerDefinition[], tolerance: number): Promise<void> {
  using model = sequential(backend, layers, { inputSize: I, seed: 3 })
  const before = backend.stats()
  const pool = model.streamPool({ maxStreams: 6 })
  const pairs = Array.from({ length: 4 }, () => ({ pooled: pool.open(), own: model.stream() }))
  for (let round = 0; round < 8; round++) {
    const taken = pairs.filter((_, k) => (round + k) % 3 !== 0)
    const differences = await Promise.all(
      taken.map(async ({ pooled, own }, k) => {
        const { data } = waves([I], [0.8, round, k])
        const steps = round === 5 ? 2 : 1
        const frames = Float64Array.from({ length: steps * I }, (_, n) => data[n % I])
        const as = backend.dtype === 'float64' ? frames : Float32Array.from(frames)
        const [a, b] = await Promise.all([
          pooled.step({ data: as, shape: steps === 1 ? [I] : [steps, I] }),
          own.step({ data: as, shape: steps === 1 ? [1, I] : [steps, 1, I] }),
        ])
        return Math.max(...Array.from(a.data, (value, n) => Math.abs(value - b.data[n])))
      }),
    )
    expect(Math.max(...differences)).toBeLessThanOrEqual(tolerance)
    if (round === 3) {
      pairs[1].pooled.reset()
      pairs[1].own.reset()
      // A place that is given back begins at zero.
      pairs[2].pooled.close()
      pairs[2].own.reset()
      pairs[2].pooled = pool.open()
      pairs[3].pooled.restore(await pairs[0].pooled.state())
      pairs[3].own.restore(await pairs[0].own.state())
    }
  }
  for (const { own } of pairs) own.dispose()
  pool.dispose()
  expect(backend.stats()).toEqual(before)
}

describe.each(Object.entries(LAYERS))('a pool of a model of %s', (_, layers) => {
  it('computes what single streams compute, in any group', async () => {
    using backend = openReferenceBackend({ dtype })
    await compare(backend, layers(), 1e-12)
  })
})

it('computes what single streams compute on cpu', async () => {
  using backend = openCpuBackend()
  await compare(backend, LAYERS['recurrent models']?.() ?? [], 1e-6)
})

describe('a pool of a model of class ids', () => {
  it('takes the ids of the embeddings in branches, however small the layers behind them are', async () => {
    using backend = openReferenceBackend()
    const branch = () => [embedding({ size: 9, units: 2 }), dense({ units: 1 })]
    using model = sequential(backend, [concat([branch(), branch()])], { isSequence: true, seed: 1 } as never)
    using pool = model.streamPool({ maxStreams: 1 })
    const stream = pool.open()
    const [y] = await Promise.all([stream.step({ data: Float32Array.of(8), shape: [1] })])
    expect(y.shape).toEqual([2])
    await expect(stream.step({ data: Float32Array.of(9), shape: [1] })).rejects.toThrow(coded('ERR_ID_OUT_OF_RANGE'))
  })

  it('steps ids, and refuses one that does not exist to its stream alone', async () => {
    using backend = openReferenceBackend()
    using model = sequential(backend, [embedding({ size: 5, units: 2 }), cudnnGRU({ numUnits: 2 })], { seed: 1 })
    using pool = model.streamPool({ maxStreams: 2 })
    const [a, b] = [pool.open(), pool.open()]
    const id = (value: number) => ({ data: Float32Array.of(value), shape: [1] })
    const [right, ...wrong] = await Promise.allSettled([
      a.step(id(4)),
      ...[5, -1, 0.5, Number.NaN].map((value) => b.step(id(value))),
      b.step(backend.tensor(id(7))),
    ])
    expect(right.status).toBe('fulfilled')
    for (const each of wrong) expect(each).toMatchObject({ reason: { code: 'ERR_ID_OUT_OF_RANGE' } })
    const own = model.stream()
    const { data } = await own.step({ data: Int32Array.of(4), shape: [1] })
    expect((right as PromiseFulfilledResult<{ data: unknown }>).value.data).toEqual(data)
    expect((await b.step(id(4))).data).toEqual(data)
    own.dispose()
  })
})

describe('streamPool refuses', () => {
  it('models that do not stream, with nothing left on the executor', () => {
    using backend = openReferenceBackend()
    const make = (layer: LayerDefinition) => sequential(backend, [layer], { inputSize: I })
    using both = make(cudnnGRU({ numUnits: 2, direction: 'bidirectional' }))
    using whole = make(conv1d({ filters: 2, kernelSize: 3, padding: 'same' }))
    using model = make(cudnnGRU({ numUnits: 2 }))
    const before = backend.stats()
    expect(() => both.streamPool()).toThrow(coded('ERR_BIDIRECTIONAL_STREAM', { layer: 'cudnn_gru' }))
    expect(() => whole.streamPool()).toThrow(coded('ERR_NO_STREAM'))
    expect(() => model.streamPool({ maxStreams: 0 })).toThrow(coded('ERR_INVALID_OPTION'))
    expect(() => model.streamPool({ streams: 3 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
    expect(backend.stats()).toEqual(before)
  })

  it('models of several inputs', () => {
    using backend = openReferenceBackend()
    const [a, b] = [input('a', { features: 2 }), input('b', { features: 2 })]
    using model = functional(backend, [a, b], { sum: merge('add', [a, apply(cudnnGRU({ numUnits: 2 }), b)]) })
    expect(() => model.streamPool()).toThrow(coded('ERR_MODEL_INPUTS'))
  })

  it('states of another model, and keeps its own', async () => {
    using backend = openReferenceBackend()
    using model = sequential(backend, [cudnnGRU({ numUnits: 2 })], { inputSize: I })
    using other = sequential(backend, [cudnnGRU({ numUnits: 3 })], { inputSize: I })
    using pool = model.streamPool({ maxStreams: 2 })
    using others = other.streamPool({ maxStreams: 1 })
    const stream = pool.open()
    await stream.step({ data: new Float32Array(I).fill(1), shape: [I] })
    const state = await stream.state()
    const foreign = await others.open().state()
    expect(() => stream.restore(foreign)).toThrow(coded('ERR_SHAPE'))
    expect(() => stream.restore(null)).toThrow(coded('ERR_LAYER_STATES'))
    expect(() => pool.open([])).toThrow(coded('ERR_LAYER_STATES'))
    expect(await stream.state()).toEqual(state)
  })
})
