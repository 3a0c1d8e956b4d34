import type { Backend, FloatDType } from '@cudnn-rnn/ops'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { checkGradients } from '@cudnn-rnn/train'
import { describe, expect, it, test } from 'vitest'
import golden from '../../../../fixtures/ctc/golden.json'
import losses from '../../../../fixtures/ctc/losses.json'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { type CtcLossOptions, ctcLoss } from '../../src/ctc/index.js'
import { decodeFloat64, filledLogits, largestError } from './fixture.js'

const EXECUTORS: readonly (readonly [string, FloatDType, (dtype: FloatDType) => Backend])[] = [
  ['reference', 'float64', (dtype) => openReferenceBackend({ dtype })],
  ['reference', 'float32', (dtype) => openReferenceBackend({ dtype })],
  ['cpu', 'float64', (dtype) => openCpuBackend({ dtype })],
  ['cpu', 'float32', (dtype) => openCpuBackend({ dtype })],
]

/** PyTorch computes in float64 to the last digits; TensorFlow's op adds logarithms in float32 even for float64. */
const TOLERANCES = { pytorch: { float64: 1e-12, float32: 1e-6 }, tensorflow: { float64: 1e-6, float32: 1e-6 } } as const

async function computed(backend: Backend, options: CtcLossOptions) {
  const { loss, rowLosses, logitsGradient } = await ctcLoss(backend, options)
  expect([loss.shape, rowLosses.shape, logitsGradient.shape]).toEqual([
    [],
    [options.logits.shape[1]],
    options.logits.shape,
  ])
  const [scalar, rows, gradient] = await Promise.all([loss.read(), rowLosses.read(), logitsGradient.read()])
  return { loss: scalar.data[0], rowLosses: rows.data as FloatArray, gradient: gradient.data as FloatArray }
}

describe.each(EXECUTORS)('ctcLoss on %s in %s', (_, dtype, open) => {
  it('equals PyTorch in 150 random cases: any blank, empty labels, rows that no path spells', async () => {
    const backend = open(dtype)
    let infeasible = 0
    for (const [index, fixture] of losses.pytorch.entries()) {
      const { labels, logitLengths, blank } = fixture
      const options = {
        logits: filledLogits(fixture, dtype),
        labels,
        logitLengths,
        blank,
        convention: 'pytorch',
      } as const
      const rows = decodeFloat64(fixture.rowLosses)
      const plain = await computed(backend, { ...options, reduction: 'sum' })
      expect(largestError(plain.rowLosses, rows), `losses of case ${index}`).toBeLessThan(TOLERANCES.pytorch[dtype])
      const finite = await computed(backend, { ...options, reduction: 'sum', zeroInfinity: true })
      const error = largestError(finite.gradient, decodeFloat64(fixture.gradient))
      expect(error, `gradient of case ${index}`).toBeLessThan(TOLERANCES.pytorch[dtype])
      const mean = await computed(backend, { ...options, zeroInfinity: true })
      expect(largestError([mean.loss], [fixture.mean]), `mean of case ${index}`).toBeLessThan(TOLERANCES.pytorch[dtype])
      for (const [row, loss] of rows.entries()) {
        if (loss !== Number.POSITIVE_INFINITY) continue
        infeasible++
        const [T, B, K] = plain.gradient.length === 0 ? [0, 0, 0] : [fixture.T, fixture.B, fixture.K]
        for (let t = 0; t < T; t++) {
          const frame = plain.gradient.subarray((t * B + row) * K, (t * B + row + 1) * K)
          expect(frame.every((value) => (t < logitLengths[row] ? Number.isNaN(value) : value === 0))).toBe(true)
        }
      }
    }
    expect(infeasible).toBeGreaterThan(5)
    backend.dispose()
  })

  it("equals TensorFlow's op in 150 random cases of its flags", async () => {
    const backend = open(dtype)
    for (const [index, fixture] of losses.tensorflow.entries()) {
      const { rowLosses, gradient, T: _T, B: _B, K: _K, scale: _s, speed: _w, phase: _p, ...options } = fixture
      const logits = filledLogits(fixture, dtype)
      const result = await computed(backend, { ...options, logits, reduction: 'sum' })
      const tolerance = TOLERANCES.tensorflow[dtype]
      expect(largestError(result.rowLosses, decodeFloat64(rowLosses)), `losses of case ${index}`).toBeLessThan(
        tolerance,
      )
      expect(largestError(result.gradient, decodeFloat64(gradient)), `gradient of case ${index}`).toBeLessThan(
        tolerance,
      )
    }
    backend.dispose()
  })

  test.each(golden.cases.map((each) => [each.name, each] as const))(
    'golden case %s',
    async (_name, { brute_force_loss_f64: expected, ...fixture }) => {
      const backend = open(dtype)
      const values = fixture.logits.flat(2)
      const data = dtype === 'float32' ? Float32Array.from(values) : Float64Array.from(values)
      const logits = { data, shape: [fixture.T, fixture.B, fixture.K] }
      const { labels, blank, logit_lengths: logitLengths } = fixture
      const { rowLosses } = await computed(backend, { logits, labels, blank, logitLengths, convention: 'pytorch' })
      expect(largestError(rowLosses, expected.map(Number))).toBeLessThan(dtype === 'float32' ? 1e-6 : 1e-11)
      backend.dispose()
    },
  )
})

describe('ctcLoss', () => {
  const uniform = (T: number, B: number, K: number) => ({ data: new Float64Array(T * B * K), shape: [T, B, K] })

  it("gives Graves's losses of TensorFlow's own test", async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const { probs, labels, loss, loss_recomputed_f64 } = golden.tf_test_vectors.ctc_loss_basic
    const [B, T, K] = [probs.length, probs[0].length, probs[0][0].length]
    const logits = uniform(T, B, K)
    for (const [b, row] of probs.entries()) {
      for (const [t, frame] of row.entries()) logits.data.set(frame.map(Math.log), (t * B + b) * K)
    }
    const { rowLosses, gradient } = await computed(backend, { logits, labels, reduction: 'sum' })
    expect(largestError(rowLosses, loss)).toBeLessThan(1e-5)
    expect(largestError(rowLosses, loss_recomputed_f64)).toBeLessThan(1e-10)
    expect([...gradient].reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 12)
  })

  it.each([[true], [false]])(
    'has the gradient of central differences, ctcMergeRepeated %s',
    async (ctcMergeRepeated) => {
      using backend = openReferenceBackend({ dtype: 'float64' })
      const logits = filledLogits({ T: 6, B: 2, K: 4, scale: 2, speed: 1.3, phase: 0.4 }, 'float64')
      const options = {
        labels: [[0, 0, 2], [1]],
        logitLengths: [6, 4],
        ctcMergeRepeated,
        reduction: 'mean_per_label',
      } as const
      const { gradient } = await computed(backend, { ...options, logits })
      const { maxError } = await checkGradients({
        inputs: { logits },
        gradients: { logits: { data: gradient, shape: logits.shape } },
        loss: async (inputs) => (await computed(backend, { ...options, logits: inputs['logits'] })).loss,
      })
      expect(maxError).toBeLessThan(1e-8)
    },
  )

  it('does not underflow over 2000 frames of confident wrong logits', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const logits = uniform(2000, 1, 3)
    for (let t = 0; t < 2000; t++) logits.data[t * 3 + 1] = 50
    const { rowLosses, gradient } = await computed(backend, { logits, labels: [[0, 0]] })
    // Two labels in the right class, a blank in each other frame: 50 nats for every frame.
    expect(rowLosses[0] / 2000).toBeGreaterThan(49)
    expect(gradient.every(Number.isFinite)).toBe(true)
  })

  it('gives infeasible rows ∞ with softmax as the gradient, as TensorFlow', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const { rowLosses, gradient } = await computed(backend, {
      logits: uniform(2, 1, 4),
      labels: [[1, 1]],
      reduction: 'sum',
    })
    expect(rowLosses).toEqual(Float64Array.of(Number.POSITIVE_INFINITY))
    expect(gradient).toEqual(new Float64Array(8).fill(0.25))
  })

  it('keeps NaN logits in their row, and does not read past a row’s length', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const logits = uniform(3, 3, 3)
    logits.data.fill(Number.NaN, (1 * 3 + 0) * 3, (1 * 3 + 1) * 3) // row 0, frame 1
    logits.data.fill(Number.NaN, (2 * 3 + 1) * 3, (2 * 3 + 2) * 3) // row 1, past its length
    const options = { logits, labels: [[0], [0], [0]], logitLengths: [3, 2, 3], reduction: 'sum' } as const
    const { rowLosses, gradient } = await computed(backend, options)
    expect(rowLosses[0]).toBeNaN()
    expect([rowLosses[1], rowLosses[2]].every(Number.isFinite)).toBe(true)
    const isNaNIn = (row: number) =>
      [0, 1, 2].map((t) => gradient.subarray((t * 3 + row) * 3, (t * 3 + row + 1) * 3).some(Number.isNaN))
    expect([isNaNIn(0), isNaNIn(1), isNaNIn(2)]).toEqual([
      [true, true, true],
      [false, false, false],
      [false, false, false],
    ])
  })

  it('leaves rows of ignored labels at 0', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const options = { logits: uniform(2, 2, 3), labels: [[0, 1, 0], [0]], ignoreLongerOutputsThanInputs: true }
    const { rowLosses } = await computed(backend, options)
    expect(rowLosses[0]).toBe(0)
    expect(rowLosses[1]).toBeGreaterThan(0)
  })

  it('takes a tensor of labels with lengths, and backend tensors of logits', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const logits = filledLogits({ T: 4, B: 2, K: 3, scale: 1, speed: 0.7, phase: 0 }, 'float64')
    const rows = await computed(backend, { logits, labels: [[0, 1], [1]] })
    const labels = { data: Int32Array.of(0, 1, 1, 77), shape: [2, 2] }
    expect(await computed(backend, { logits: backend.tensor(logits), labels, labelLengths: [2, 1] })).toEqual(rows)
  })

  const WRONG: readonly (readonly [string, string, Partial<CtcLossOptions>])[] = [
    ['more labels than time steps', 'ERR_CTC_LABELS_TOO_LONG', { labels: [[0, 1, 0, 1], [0]] }],
    ['a label that is the blank', 'ERR_CTC_LABEL', { labels: [[2], [0]] }],
    ['a label past the classes', 'ERR_CTC_LABEL', { labels: [[3], [0]] }],
    ['a negative label', 'ERR_CTC_LABEL', { labels: [[-1], [0]] }],
    ['a fractional label', 'ERR_CTC_LABELS', { labels: [[0.5], [0]] }],
    ['labels that are not an array', 'ERR_NOT_A_TENSOR', { labels: 3 as never }],
    ['a row of labels that is not an array', 'ERR_CTC_LABELS', { labels: ['ab', [0]] as never }],
    ['lengths beside arrays of labels', 'ERR_CTC_LABELS', { labelLengths: [1, 1] }],
    ['a row too few', 'ERR_SHAPE', { labels: [[0]] }],
    ['a negative length', 'ERR_SEQUENCE_LENGTHS', { logitLengths: [-1, 3] }],
    ['a length past T', 'ERR_SEQUENCE_LENGTHS', { logitLengths: [3, 4] }],
    ['a length too few', 'ERR_SEQUENCE_LENGTHS', { logitLengths: [3] }],
    ['a blank that is not a class', 'ERR_CTC_BLANK', { blank: 3 }],
    ['an empty batch', 'ERR_EMPTY_BATCH', { logits: uniform(3, 0, 3), labels: [] }],
    ['no time steps', 'ERR_EMPTY_BATCH', { logits: uniform(0, 2, 3) }],
    ['logits of another rank', 'ERR_SHAPE', { logits: { data: new Float64Array(6), shape: [2, 3] } }],
    ['logits of another dtype', 'ERR_DTYPE', { logits: { data: new Float32Array(18), shape: [3, 2, 3] } }],
    ['no logits', 'ERR_NOT_A_TENSOR', { logits: undefined as never }],
    ['another convention', 'ERR_INVALID_OPTION', { convention: 'keras' as never }],
    ['another reduction', 'ERR_INVALID_OPTION', { reduction: 'none' as never }],
    ['a flag that is not boolean', 'ERR_INVALID_OPTION_TYPE', { zeroInfinity: 1 as never }],
    ['an unknown option', 'ERR_UNKNOWN_OPTION', { blanc: 0 } as never],
  ]
  test.each(WRONG)('refuses %s with %s', async (_name, code, wrong) => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const options = { logits: uniform(3, 2, 3), labels: [[0], [1]], ...wrong } as CtcLossOptions
    await expect(ctcLoss(backend, options)).rejects.toThrow(coded(code))
    expect(backend.stats().tensors).toBe(0)
  })

  it('refuses a tensor of another executor', async () => {
    using backend = openReferenceBackend()
    using other = openReferenceBackend()
    const logits = other.tensor({ data: new Float32Array(3), shape: [1, 1, 3] } as Tensor)
    await expect(ctcLoss(backend, { logits, labels: [[0]] })).rejects.toThrow(coded('ERR_FOREIGN_TENSOR'))
  })
})
