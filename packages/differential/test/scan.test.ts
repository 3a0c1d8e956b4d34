import { type Backend, DTYPES } from '@cudnn-rnn/ops'
import { Variable } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { type Cell, type GradientTape, infer, scan, type Value, valueAndGrad } from '@cudnn-rnn/train'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { testedExecutors } from '../src/executors.js'
import type { Program } from '../src/program.js'

const [T, B, I, H] = [5, 3, 2, 4]
const LENGTHS = [5, 0, 3]
/** Central differences in float64. */
const [STEP, DIFFERENCES_TOLERANCE] = [1e-5, 1e-8]
/** Single precision, 2⁻²⁴ in each of five steps. */
const EXECUTORS_TOLERANCE = 1e-6

const numbers = (length: number, at: number) => Float64Array.from({ length }, (_, k) => Math.sin(at + 1.7 * k))
const tensorOf = ({ dtype }: Backend, data: Float64Array, shape: readonly number[]) => ({
  data: new DTYPES[dtype].array(data),
  shape,
})
const SHAPES = { gate: [I + H, H], candidate: [I + H, H], bias: [H], x: [T, B, I], h: [B, H] }
type Params = Readonly<Record<keyof typeof SHAPES, Variable>>

function paramsOf(backend: Backend): Params {
  const made = Object.entries(SHAPES).map(([name, shape], k) => {
    const data = numbers(
      shape.reduce((a, b) => a * b, 1),
      k,
    )
    return [name, new Variable(backend, backend.tensor(tensorOf(backend, data, shape)), name)]
  })
  return Object.fromEntries(made) as Params
}

/** Minimal gated unit, Zhou et al. 2016; its state is a record, to have one. */
const mgu = (p: Params): Cell<{ h: Value }> => ({
  zeroState: (t, batch) => ({ h: t.value(tensorOf(t.backend, new Float64Array(batch * H), [batch, H])) }),
  step(t, x, { h }) {
    const forget = t.activate(t.linear(t.concat([x, h]), p.gate, p.bias), 'sigmoid')
    const candidate = t.activate(t.linear(t.concat([x, t.multiply(forget, h)]), p.candidate, p.bias), 'tanh')
    const next = t.add(h, t.multiply(forget, t.subtract(candidate, h)))
    return { output: next, state: { h: next } }
  },
})

function lossOf(t: GradientTape, p: Params): Value {
  const { output, state } = scan(t, mgu(p), p.x, { state: { h: t.value(p.h) }, lengths: LENGTHS })
  return t.add(t.mean(t.square(output)), t.sum(t.multiply(state.h, 0.5)))
}

async function gradientsOf(backend: Backend): Promise<Float64Array[]> {
  const p = paramsOf(backend)
  const { value, gradients } = await valueAndGrad(lossOf)(p)
  const read = await Promise.all(
    Object.values(gradients).map(async (each) => Float64Array.from((await each.read()).data)),
  )
  for (const tensor of [value, ...Object.values(gradients)]) tensor.dispose()
  expect(backend.stats().tensors).toBe(Object.keys(SHAPES).length)
  return read
}

it('has the slopes of its loss as gradients', async () => {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const gradients = await gradientsOf(backend)
  const p = paramsOf(backend)
  const loss = async () => {
    using value = await infer(lossOf)(p)
    return (await value.read()).data[0] as number
  }
  for (const [index, variable] of Object.values(p).entries()) {
    const { data } = await variable.value.read()
    for (let k = 0; k < data.length; k++) {
      const before = data[k] as number
      data[k] = before + STEP
      const above = await loss()
      data[k] = before - STEP
      const below = await loss()
      data[k] = before
      expect(Math.abs((gradients[index]?.[k] ?? Number.NaN) - (above - below) / (2 * STEP))).toBeLessThan(
        DIFFERENCES_TOLERANCE,
      )
    }
  }
})

it('keeps the state of rows that have ended, and their outputs zero', async () => {
  using backend = openReferenceBackend()
  const p = paramsOf(backend)
  const run = (lengths: readonly number[] | null) =>
    infer((t, v: Params) => scan(t, mgu(v), v.x, { state: { h: t.value(v.h) }, lengths }))(p)
  const [{ output, state }, whole] = [await run(LENGTHS), await run(null)]
  const [y, h, all, first] = await Promise.all(
    [output, state.h, whole.output, p.h.value].map(async (each) => (await each.read()).data),
  )
  for (const [row, length] of LENGTHS.entries()) {
    const at = (step: number) => (step * B + row) * H
    const last = length === 0 ? first?.slice(row * H, (row + 1) * H) : all?.slice(at(length - 1), at(length - 1) + H)
    expect(h?.slice(row * H, (row + 1) * H)).toEqual(last)
    for (let step = 0; step < T; step++) {
      const own = y?.slice(at(step), at(step) + H)
      expect(own).toEqual(step < length ? all?.slice(at(step), at(step) + H) : new Float32Array(H))
    }
  }
})

it('refuses sequences, cells, states and lengths that do not fit', async () => {
  using backend = openReferenceBackend()
  const p = paramsOf(backend)
  const refused = (code: string, f: (t: GradientTape, v: Params) => unknown) =>
    expect(valueAndGrad(f as typeof lossOf)(p)).rejects.toThrow(coded(code))
  await refused('ERR_SHAPE', (t, v) => scan(t, mgu(v), v.bias))
  await refused('ERR_INVALID_ARGUMENT', (t, v) => scan(t, {} as never, v.x))
  await refused('ERR_INVALID_ARGUMENT', (_, v) => scan(undefined as never, mgu(v), v.x))
  await refused('ERR_UNKNOWN_OPTION', (t, v) => scan(t, mgu(v), v.x, { length: [1] } as never))
  await refused('ERR_SEQUENCE_LENGTHS', (t, v) => scan(t, mgu(v), v.x, { lengths: [1] }))
  await refused('ERR_NOT_A_TENSOR', (t, v) => scan(t, { step: () => ({}) } as never, v.x))
  await refused('ERR_NOT_A_TENSOR', (t, v) => scan(t, mgu(v), v.x, { state: { h: 'x' } as never }))
  await refused('ERR_NOT_A_TENSOR', (t, v) => scan(t, { ...mgu(v), zeroState: () => undefined as never }, v.x))
  expect(backend.stats().tensors).toBe(Object.keys(SHAPES).length)
})

describe.each(testedExecutors().found)('scan of $name', ({ open, inspect }) => {
  it('has the gradients of the reference', async () => {
    using reference = openReferenceBackend({ dtype: 'float64' })
    const expected = await gradientsOf(reference)
    const backend = await open({ dtype: 'float32', threads: 2 } as Program)
    try {
      const actual = await gradientsOf(backend)
      for (const [k, gradient] of expected.entries()) {
        const largest = gradient.reduce((most, x) => Math.max(most, Math.abs(x)), 1)
        for (const [n, x] of gradient.entries()) {
          expect(Math.abs(x - (actual[k]?.[n] ?? Number.NaN)) / largest).toBeLessThan(EXECUTORS_TOLERANCE)
        }
      }
    } finally {
      backend.dispose()
      await inspect?.(backend)
    }
  })
})
