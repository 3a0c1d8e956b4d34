import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { sequential } from '../../src/index.js'
import { waves } from '../small_data.js'
import { B, dtype, I, LAYERS, withStream, x } from './streamed_layers.js'

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
