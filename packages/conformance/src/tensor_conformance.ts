import { type Backend, DTYPES, type TensorLike } from '@cudnn-rnn/ops'
import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { expectAllclose, expectedOnce } from './closeness.js'
import type { ExecutorUnderTest } from './executor_under_test.js'

type Shape = readonly number[]

/** Largest difference between executors' results: the rounding of one function, and of sums in double precision. */
const TOLERANCES = { float32: 1e-6, float64: 1e-13 } as const

const PAIRS: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => a + b,
  subtract: (a, b) => a - b,
  multiply: (a, b) => a * b,
  divide: (a, b) => a / b,
  minimum: (a, b) => Math.min(a, b),
  maximum: (a, b) => Math.max(a, b),
  power: (a, b) => a ** b,
  greater: (a, b) => Number(a > b),
  less: (a, b) => Number(a < b),
  equal: (a, b) => Number(a === b),
}
const ONES: Readonly<Record<string, (a: number) => number>> = {
  ...{ exp: Math.exp, log: Math.log, sqrt: Math.sqrt, sin: Math.sin, cos: Math.cos },
  ...{ abs: (a) => Math.abs(a), negate: (a) => -a, square: (a) => a * a },
}

/** Shapes that broadcast: equal, scalars, rows, columns, both ways, nothing, more than one thread takes. */
const BROADCASTS = [
  ...['3,4 3,4 3,4', '- - -', '2,3 - 1', '- 5 1,1', '4,3 3 4,1', '2,1,4 3,1 1,3,4', '5,1,3,1 4,1,2 5,4,3,2'],
  ...['0,3 1,3 3', '4,0 1 4,1', '1 1,1 1', '40001 40001 -', '129,257 129,1 257'],
].map(shapesOf)
const REDUCED: readonly (readonly [shape: Shape, axes?: Shape])[] = [
  ...['-', '7', '3,4 0', '3,4 -1', '3,4 -', '2,3,4,5 0,2', '2,3,4,5 1,3', '2,3,4,5', '1,5,1 0,2', '3,0 0'],
  ...['300,129 0', '129,300 1', '200,300'],
].map((text) => shapesOf(text) as [Shape, Shape?])

/** Rows that take tensors of any shape, against loops over indices in float64. */
export function registerTensorConformance({ open, dtype }: ExecutorUnderTest): void {
  const tolerance = TOLERANCES[dtype]
  /** Values in 0.5…1.5 in steps of 1/16, some of them equal. */
  const make = (shape: Shape, seed = 0): Tensor<FloatArray> => {
    const data = new DTYPES[dtype].array(elementCount(shape))
    for (let k = 0; k < data.length; k++) data[k] = 0.5 + (((k + seed) * 7 + (k >> 3) + seed) % 17) / 16
    return { data, shape }
  }
  const call = ({ ops }: Backend, name: string, ...given: readonly unknown[]) =>
    (ops as unknown as Readonly<Record<string, (...all: readonly unknown[]) => ReturnType<typeof ops.add>>>)[name](
      ...given,
    )
  const expectResult = async (what: string, result: ReturnType<typeof call>, expected: Tensor<ArrayLike<number>>) => {
    const { data, shape } = await result.read()
    expect(shape, what).toEqual(expected.shape)
    expectAllclose(what, data, expected.data, tolerance)
  }

  describe('operations on tensors of any shape', () => {
    test.each(Object.keys(PAIRS))('%s broadcasts', async (name) => {
      using backend = await open()
      for (const [left, right] of BROADCASTS) {
        for (const [order, [a, b]] of [
          [make(left), make(right, 3)],
          [make(right, 5), make(left)],
        ].entries()) {
          const expected = expectedOnce(`${dtype} ${name} [${a.shape}] [${b.shape}] ${order}`, () =>
            mapped(broadcast([a.shape, b.shape]), (index) => PAIRS[name](read(a, index), read(b, index))),
          )
          await expectResult(`${name} [${a.shape}] [${b.shape}]`, call(backend, name, backend.tensor(a), b), expected)
        }
      }
    })

    test('select broadcasts', async () => {
      using backend = await open()
      for (const shapes of BROADCASTS) {
        const [condition, a, b] = shapes.map((shape, k) => make(shape, k))
        for (let k = 0; k < condition.data.length; k++) condition.data[k] = k % 3
        const what = `select ${shapes.join(' ')}`
        const expected = expectedOnce(`${dtype} ${what}`, () =>
          mapped(broadcast(shapes), (index) => (read(condition, index) ? read(a, index) : read(b, index))),
        )
        await expectResult(what, backend.ops.select(condition, a, b), expected)
      }
    })

    test.each(Object.keys(ONES))('%s', async (name) => {
      using backend = await open()
      for (const shape of [[], [5], [2, 0], [3, 1, 2], [40_001]]) {
        const x = make(shape)
        const what = `${name} [${shape}]`
        const expected = expectedOnce(`${dtype} ${what}`, () => mapped(shape, (index) => ONES[name](read(x, index))))
        await expectResult(what, call(backend, name, x), expected)
      }
    })

    test('functions of negative numbers, and of those that are not finite', async () => {
      using backend = await open()
      const { array } = DTYPES[dtype]
      const [a, b] = [
        { data: array.of(Number.NaN, 1, -2, Number.POSITIVE_INFINITY, -1, 0), shape: [6] },
        { data: array.of(1, Number.NaN, 3, Number.NEGATIVE_INFINITY, 0.5, -0), shape: [6] },
      ]
      const valuesOf = async (name: string, ...given: readonly TensorLike[]) =>
        Array.from((await call(backend, name, ...given).read()).data)
      const nan = Number.NaN
      expect(await valuesOf('minimum', a, b)).toEqual([nan, nan, -2, Number.NEGATIVE_INFINITY, -1, expect.closeTo(0)])
      expect(await valuesOf('maximum', a, b)).toEqual([nan, nan, 3, Number.POSITIVE_INFINITY, 0.5, expect.closeTo(0)])
      expect(await valuesOf('power', a, b)).toEqual([nan, 1, -8, 0, nan, 1])
      expect(await valuesOf('equal', a, b)).toEqual([0, 0, 0, 0, 0, 1])
      expect(await valuesOf('abs', a)).toEqual([nan, 1, 2, Number.POSITIVE_INFINITY, 1, 0])
      expect(await valuesOf('sqrt', a)).toEqual([nan, 1, nan, Number.POSITIVE_INFINITY, nan, 0])
      expect(await valuesOf('log', a)).toEqual([nan, 0, nan, Number.POSITIVE_INFINITY, nan, Number.NEGATIVE_INFINITY])
      expect(await valuesOf('select', a, a, b)).toEqual([nan, 1, -2, Number.POSITIVE_INFINITY, -1, -0])
      expect([await valuesOf('sum', a), await valuesOf('max', a), await valuesOf('max', b)]).toEqual([
        [nan],
        [nan],
        [nan],
      ])
    })

    test.each(['sum', 'mean', 'max'])('%s over any axes', async (name) => {
      using backend = await open()
      for (const [shape, axes] of REDUCED) {
        const x = make(shape)
        const summed = shape.map((_, axis) =>
          (axes ?? [...shape.keys()]).some((each) => each === axis || each + shape.length === axis),
        )
        const kept = shape.map((size, axis) => (summed[axis] ? 1 : size))
        const options = axes && { axes }
        const what = `${name} [${shape}] over [${axes}]`
        const data = expectedOnce(`${dtype} ${what}`, () => {
          const groups = new Map<string, number[]>(indicesOf(kept).map((index) => [String(index), []]))
          for (const index of indicesOf(shape)) {
            groups.get(String(index.map((place, axis) => (summed[axis] ? 0 : place))))?.push(read(x, index))
          }
          const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
          return [...groups.values()].map((values) =>
            name === 'max'
              ? values.reduce((a, b) => Math.max(a, b))
              : sum(values) / (name === 'mean' ? values.length : 1),
          )
        })
        const left = shape.filter((_, axis) => !summed[axis])
        await expectResult(what, call(backend, name, x, options), { data, shape: left })
        await expectResult(what, call(backend, name, x, { ...options, keepDims: true }), { data, shape: kept })
      }
    })

    test('no elements have the sum 0 and the mean NaN, and a largest one is refused', async () => {
      using backend = await open()
      const { ops } = backend
      const empty = make([2, 0])
      expect(Array.from((await ops.sum(empty, { axes: [1] }).read()).data)).toEqual([0, 0])
      expect(Array.from((await ops.mean(empty).read()).data)).toEqual([Number.NaN])
      expect(() => ops.max(empty, { axes: [1] })).toThrow(coded('ERR_SHAPE', { argument: 'input' }))
    })

    test('matmul, of one matrix or many, transposed or not', async () => {
      using backend = await open()
      for (const [leadingA, leadingB, [m, k, n]] of [
        ...['- - 3,4,5', '2,3 2,3 3,4,5', '40 40 5,17,9', '6 - 3,4,2', '- 6 3,4,2', '2 2 3,0,2', '0 0 3,2,2'],
        ...['2 2 40,33,64', '- - 1,300,70'],
      ].map(shapesOf)) {
        for (const [transposeA, transposeB] of [
          [false, false],
          [true, false],
          [false, true],
          [true, true],
        ]) {
          const a = make([...leadingA, ...(transposeA ? [k, m] : [m, k])])
          const b = make([...leadingB, ...(transposeB ? [n, k] : [k, n])], 3)
          const leading = leadingA.length > 0 ? leadingA : leadingB
          const what = `[${a.shape}] [${b.shape}] ${transposeA} ${transposeB}`
          const expected = expectedOnce(`${dtype} matmul ${what}`, () =>
            mapped([...leading, m, n], (index) => {
              const [batch, row, column] = [index.slice(0, -2), index.at(-2) as number, index.at(-1) as number]
              let sum = 0
              for (let inner = 0; inner < k; inner++) {
                const left = transposeA ? [inner, row] : [row, inner]
                const right = transposeB ? [column, inner] : [inner, column]
                sum +=
                  read(a, [...(leadingA.length > 0 ? batch : []), ...left]) *
                  read(b, [...(leadingB.length > 0 ? batch : []), ...right])
              }
              return sum
            }),
          )
          await expectResult(what, backend.ops.matmul(a, backend.tensor(b), { transposeA, transposeB }), expected)
        }
      }
      const wrong = { argument: 'b', expected: [3, 'N'], actual: [4, 3] }
      expect(() => backend.ops.matmul(make([2, 3]), make([4, 3]))).toThrow(coded('ERR_SHAPE', wrong))
      expect(() => backend.ops.matmul(make([3]), make([3, 3]))).toThrow(coded('ERR_SHAPE', { argument: 'a' }))
      expect(() => backend.ops.matmul(make([2, 3, 3]), make([4, 3, 3]))).toThrow(coded('ERR_SHAPE', { argument: 'b' }))
    })

    test('transpose, slice, pad and broadcast', async () => {
      using backend = await open()
      const { ops } = backend
      const transposes = [
        '- -',
        '3,4 1,0',
        '2,3,4,5 3,1,0,2',
        '2,3,4,5 2,3,0,1',
        '2,0,3 2,1,0',
        '1,7,1 2,0,1',
        '300,70 1,0',
      ]
      for (const [shape, order] of transposes.map(shapesOf)) {
        const x = make(shape)
        const expected = mapped(
          order.map((axis) => shape[axis]),
          (index) => {
            const from: number[] = []
            for (const [k, axis] of order.entries()) from[axis] = index[k]
            return read(x, from)
          },
        )
        await expectResult(`transpose [${shape}] ${order}`, ops.transpose(x, order), expected)
      }
      const parts = ['- - -', '5 2 3', '4,5 1,2 2,3', '4,5 0,0 4,5', '4,5 4,0 0,5', '3,4,5,6 1,1,1,1 1,2,3,4']
      for (const [shape, begins, sizes] of parts.map(shapesOf)) {
        const x = make(shape)
        const moved = (index: Shape) => index.map((place, axis) => place + begins[axis])
        const part = ops.slice(x, begins, sizes)
        await expectResult(
          `slice [${shape}]`,
          part,
          mapped(sizes, (index) => read(x, moved(index))),
        )
        const after = shape.map((size, axis) => size - begins[axis] - sizes[axis])
        const isInside = (index: Shape) => index.every((place, k) => place >= begins[k] && place < begins[k] + sizes[k])
        const padded = mapped(shape, (index) => (isInside(index) ? read(x, index) : 0))
        await expectResult(`pad [${shape}]`, ops.pad(part, begins, after), padded)
      }
      for (const [shape, target] of ['- 2,3', '3,1 2,3,4', '1,1 0,3'].map(shapesOf)) {
        const x = make(shape)
        await expectResult(
          `broadcast [${shape}]`,
          ops.broadcast(x, target),
          mapped(target, (index) => read(x, index)),
        )
      }
    })

    test('concat and stack along any axis', async () => {
      using backend = await open()
      const { ops } = backend
      for (const axis of [0, 1, 2, -1]) {
        const at = (axis + 3) % 3
        const parts = [1, 0, 4].map((size, k) =>
          make(
            [2, 3, 2].map((each, place) => (place === at ? size : each)),
            k,
          ),
        )
        const shape = [2, 3, 2].map((each, place) => (place === at ? 5 : each))
        const expected = mapped(shape, (index) => {
          const moved = index.map((place, each) => (each === at && place > 0 ? place - 1 : place))
          return read(parts[index[at] === 0 ? 0 : 2], moved)
        })
        await expectResult(`concat ${axis}`, ops.concat(parts, { axis }), expected)
      }
      const equal = [make([2, 3]), make([2, 3], 1)]
      for (const axis of [0, 1, 2, -1]) {
        const at = (axis + 3) % 3
        const shape = [2, 3]
        shape.splice(at, 0, 2)
        const expected = mapped(shape, (index) =>
          read(
            equal[index[at]],
            index.filter((_, each) => each !== at),
          ),
        )
        await expectResult(`stack ${axis}`, ops.stack(equal, { axis }), expected)
      }
      await expectResult('stack of scalars', ops.stack([make([]), make([], 1)]), {
        data: [make([]).data[0], make([], 1).data[0]],
        shape: [2],
      })
      const wrong = { argument: 'inputs[1]', expected: ['E', 3], actual: [2, 4] }
      expect(() => ops.concat([make([2, 3]), make([2, 4])], { axis: 0 })).toThrow(coded('ERR_SHAPE', wrong))
      expect(() => ops.concat([make([])])).toThrow(coded('ERR_SHAPE'))
    })

    test('more than four groups of dimensions are refused, and change nothing', async () => {
      using backend = await open()
      const stats = backend.stats()
      const [a, b] = [make([2, 1, 2, 1, 2]), make([1, 2, 1, 2, 1])]
      expect(() => backend.ops.add(a, b)).toThrow(coded('ERR_SHAPE', { expected: 4 }))
      expect(() => backend.ops.transpose(make([2, 2, 2, 2, 2]), [4, 3, 2, 1, 0])).toThrow(coded('ERR_SHAPE'))
      expect(backend.stats()).toEqual(stats)
    })

    test('oneHot and maskSequence', async () => {
      using backend = await open()
      const { ops } = backend
      const ids = { data: Int32Array.of(2, 0, 1, 1), shape: [2, 2] }
      const expected = { data: [0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0], shape: [2, 2, 3] }
      await expectResult('oneHot', ops.oneHot(ids, 3), expected)
      expect(() => ops.oneHot(ids, 2)).toThrow(coded('ERR_ID_OUT_OF_RANGE'))
      const x = make([3, 2, 2])
      const lengths = { data: Int32Array.of(3, 1), shape: [2] }
      const masked = mapped(x.shape, (index) => (index[0] < lengths.data[index[1]] ? read(x, index) : 0))
      await expectResult('maskSequence', ops.maskSequence(x, lengths), masked)
      await expectResult('maskSequence', ops.maskSequence(x, null), x)
    })

    test('uniform and normal numbers are a function of seed, draw and place', async () => {
      using backend = await open()
      const { ops } = backend
      const options = { seed: 2 ** 32 + 5, draw: 2 ** 24 + 7 }
      const [uniform, normal] = [ops.uniform([101, 100], options), ops.normal([101, 100], options)]
      const values = Array.from((await uniform.read()).data)
      expect(values.slice(0, 4)).toEqual(FIRST_UNIFORM)
      expectAllclose('normal', Array.from((await normal.read()).data.slice(0, 4)), FIRST_NORMAL, tolerance)
      expect(values.every((value) => value >= 0 && value < 1)).toBe(true)
      const mean = Array.from((await ops.mean(uniform).read()).data)[0]
      const variance = Array.from((await ops.mean(ops.square(normal)).read()).data)[0]
      expect([Math.abs(mean - 0.5) < 0.01, Math.abs(variance - 1) < 0.05]).toEqual([true, true])
      const other = Array.from((await ops.uniform([4], { ...options, draw: 8 }).read()).data)
      expect(other).not.toEqual(values.slice(0, 4))
      expect((await ops.normal([0, 2], options).read()).shape).toEqual([0, 2])
    })
  })
}

/** By another Philox4x32-10, with the key (5, 1) and the counter (0, 0, 7, 2^26 + 1). */
const FIRST_UNIFORM = [0.7473275065422058, 0.6509172320365906, 0.7957488894462585, 0.5578635334968567]
const FIRST_NORMAL = [-0.9672160236457878, -1.3475219500227744, -1.6658554155596739, -0.6338264356342974]

/** Shapes, and other lists of numbers, from their text; - is the empty one. */
function shapesOf(text: string): Shape[] {
  return text.split(' ').map((list) => (list === '-' ? [] : list.split(',').map(Number)))
}

/** The element at an index of a shape to which it repeats. */
function read({ data, shape }: Tensor<FloatArray>, index: Shape): number {
  let place = 0
  const first = index.length - shape.length
  for (let axis = 0; axis < shape.length; axis++) {
    place = place * shape[axis] + (shape[axis] === 1 ? 0 : index[first + axis])
  }
  return data[place]
}

const keptIndices = new Map<string, readonly Shape[]>()

/** All indices of a shape, in order: kept, as every function, type and instruction set has the same shapes. */
function indicesOf(shape: Shape): readonly Shape[] {
  const name = String(shape)
  const none: readonly Shape[] = [[]]
  const indices =
    keptIndices.get(name) ??
    shape.reduce((all, size) => all.flatMap((index) => Array.from({ length: size }, (_, k) => [...index, k])), none)
  keptIndices.set(name, indices)
  return indices
}

/** A tensor of the values at its indices. */
function mapped(shape: Shape, valueAt: (index: Shape) => number) {
  return { data: indicesOf(shape).map(valueAt), shape }
}

function broadcast(shapes: readonly Shape[]): Shape {
  const rank = Math.max(...shapes.map((shape) => shape.length))
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = shapes.map((shape) => shape[axis - rank + shape.length] ?? 1)
    return sizes.find((size) => size !== 1) ?? 1
  })
}
