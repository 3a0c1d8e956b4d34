import { DTYPES } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import extreme from '../../../fixtures/ctc/extreme.json'
import fixture from '../../../fixtures/ctc/losses.json'
import { expectAllclose } from './closeness.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { decodeFloat64 } from './fixture_case.js'

type Case = (typeof fixture.pytorch)[number]

/** T·B·K logits by the formula of fixtures/ctc/make.py. */
function logitOf({ scale, speed, phase }: Case, n: number): number {
  return scale * Math.sin(speed * (n + 1) + phase)
}

/** The labels [B,S] of a case, filled up with zeros. */
function labelsOf({ labels }: Case) {
  const columns = Math.max(...labels.map(({ length }) => length))
  const data = Int32Array.from(
    { length: labels.length * columns },
    (_, k) => labels[Math.floor(k / columns)][k % columns] ?? 0,
  )
  return { data, shape: [labels.length, columns] }
}

/** The cases of fixtures/ctc/make.py, PyTorch's part. */
export function registerCtcConformance({ open, dtype, tolerance }: ExecutorUnderTest): void {
  describe('the CTC loss', () => {
    test('equals PyTorch in 150 random cases: any blank, empty labels, rows that no path spells', async () => {
      using backend = await open()
      for (const [index, one] of fixture.pytorch.entries()) {
        const { T, B, K, blank, labels, logitLengths } = one
        const data = new DTYPES[dtype].array(T * B * K).map((_: number, n: number) => logitOf(one, n)) as FloatArray
        using logits = backend.tensor({ data, shape: [T, B, K] })
        const lengths = { logitLengths, labelLengths: labels.map(({ length }) => length) }
        const result = await backend.ops.ctcLoss(logits, labelsOf(one), { ...lengths, blank, infeasible: 'zero' })
        const [loss, rowLosses, gradient] = await Promise.all([
          result.loss.read(),
          result.rowLosses.read(),
          result.logitsGradient.read(),
        ])
        const rows = decodeFloat64(one.rowLosses).map((value) => (value === Number.POSITIVE_INFINITY ? 0 : value))
        expectAllclose(`row losses of case ${index}`, rowLosses.data, rows, tolerance)
        const sum = rows.reduce((total, value) => total + value, 0)
        expectAllclose(`loss of case ${index}`, loss.data, [sum], tolerance)
        expectAllclose(`gradient of case ${index}`, gradient.data, decodeFloat64(one.gradient), tolerance)
        for (const tensor of [result.loss, result.rowLosses, result.logitsGradient]) tensor.dispose()
      }
      expect(backend.stats().bytes).toBe(0)
    })

    // In float32 and float64: the logits are of float32.
    test.each(extreme)('equals PyTorch for $name, zeroInfinity: $zeroInfinity', async (one) => {
      using backend = await open()
      const data = new DTYPES[dtype].array(decodeFloat64(one.logits)) as FloatArray
      const labels = { data: Int32Array.from([...one.labels, 0]), shape: [1, one.labels.length + 1] }
      const lengths = { logitLengths: one.logitLengths, labelLengths: [one.labels.length], blank: 0 }
      const infeasible = one.zeroInfinity ? 'zero' : 'nan'
      const result = await backend.ops.ctcLoss({ data, shape: one.shape }, labels, { ...lengths, infeasible })
      for (const [name, tensor, text] of [
        ['loss', result.loss, one.loss],
        ['gradient', result.logitsGradient, one.gradient],
      ] as const) {
        const [actual, expected] = [Array.from((await tensor.read()).data), Array.from(decodeFloat64(text))]
        const others = (values: readonly number[]) => values.map((value) => (Number.isFinite(value) ? 0 : value))
        const finite = (values: readonly number[]) => values.map((value) => (Number.isFinite(value) ? value : 0))
        expect(others(actual), name).toEqual(others(expected))
        expectAllclose(name, finite(actual), finite(expected), tolerance)
      }
    })

    // One row per call, as executors compute a row without frames on the host if their library refuses it. One frame, as
    // sums of logarithms over several are rounded.
    test.each([
      ['no frames and no labels', 0, []],
      ['a frame that is certainly blank and no labels', 1, []],
      ['a label that is certain', 1, [1]],
    ])('is 0, not -0, for %s', async (_, time, labels) => {
      using backend = await open()
      const data = new DTYPES[dtype].array(3).fill(-1000) as FloatArray
      data[labels[0] ?? 0] = 0
      const target = { data: Int32Array.from([...labels, 0]), shape: [1, labels.length + 1] }
      const lengths = { logitLengths: [time], labelLengths: [labels.length] }
      const result = await backend.ops.ctcLoss({ data, shape: [1, 1, 3] }, target, { ...lengths, blank: 0 })
      expect((await result.rowLosses.read()).data[0]).toBe(0)
      expect((await result.loss.read()).data[0]).toBe(0)
    })
  })
}
