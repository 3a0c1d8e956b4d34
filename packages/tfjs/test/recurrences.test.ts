import type { AnyBackendTensor, HostLstm, HostProducts } from '@cudnn-rnn/ops'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import type { HostTensor } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterAll, describe, expect, test } from 'vitest'
import { ACTIVATIONS } from '../src/activation.js'
import { deviceRecurrences, type SynchronousDevice } from '../src/device_recurrences.js'
import { gruRecurrence } from '../src/gru_recurrence.js'
import { lstmRecurrence } from '../src/lstm_recurrence.js'
import type { PlannedCell } from '../src/recurrent_layer.js'
import type { Kernels, SequenceOperands, SequencePass } from '../src/sequence.js'
import { simpleRecurrence } from '../src/simple_recurrence.js'
import { differences, lossOf, MASK, operandsOf } from './sequence_cases.js'

const { tanh, sigmoid } = ACTIVATIONS
const [cpu, reference] = [openCpuBackend({ threads: 1 }), openReferenceBackend()]
/** Plain loops, and the LSTM of the executor that has one. */
const kernels = { products: reference.products as HostProducts, lstm: cpu.lstm as HostLstm }
afterAll(() => {
  cpu.dispose()
  reference.dispose()
})

const lstmNames = { gateName: 'sigmoid', candidateName: 'tanh', gate: sigmoid, candidate: tanh } as const
const lstmOn = (own: Kernels) => (o: SequenceOperands) => lstmRecurrence(own, o, lstmNames)

/** The reference, whose tensors are in host memory, as a device. */
const device: SynchronousDevice = Object.assign(reference, {
  readSync: (tensor: AnyBackendTensor) => ({
    data: (tensor as HostTensor<never>).live.slice() as never,
    shape: tensor.shape,
  }),
})
const onDevice = (kind: PlannedCell['kind']) => (o: SequenceOperands) =>
  deviceRecurrences(device).run({ kind, activation: 'tanh', recurrentActivation: 'sigmoid' } as PlannedCell, o)

const RECURRENCES: Readonly<
  Record<string, { readonly gates: number; readonly states: number; run(o: SequenceOperands): SequencePass }>
> = {
  simple: { gates: 1, states: 1, run: (o) => simpleRecurrence(kernels, o, tanh) },
  gru: { gates: 3, states: 1, run: (o) => gruRecurrence(kernels, o, sigmoid, tanh) },
  'lstm by the kernel of an executor': { gates: 4, states: 2, run: lstmOn(kernels) },
  'simple by tensors': { gates: 1, states: 1, run: onDevice('simple') },
  'gru by tensors': { gates: 3, states: 1, run: onDevice('gru') },
  'lstm by tensors': { gates: 4, states: 2, run: onDevice('lstm') },
  'lstm by loops': { gates: 4, states: 2, run: lstmOn({ ...kernels, lstm: undefined }) },
}

/** Central differences with steps of 2⁻⁶: their own error is of third order, and float32 adds 2⁻²⁴ · 2⁶ of the loss. */
const DIFFERENCE_TOLERANCE = 2e-3

const one = (values: readonly number[], time: number) => ({
  ...{ time, batch: 1, inputs: 1, units: 1, mask: null },
  x: Float32Array.from(values.flatMap((value) => [value, 1])),
})
const logistic = (x: number) => 1 / (1 + Math.exp(-x))

describe('a recurrence of one unit', () => {
  test('simple: h = tanh(w·x + r·h + b)', () => {
    const pass = simpleRecurrence(
      kernels,
      {
        ...one([1, -2], 2),
        kernel: Float32Array.of(0.5, 0.25),
        recurrentKernel: Float32Array.of(2),
        states: [Float32Array.of(0.5)],
      },
      tanh,
    )
    const first = Math.tanh(0.5 + 0.25 + 1)
    expect([...pass.hidden]).toEqual([0.5, first, Math.tanh(-1 + 0.25 + 2 * first)].map((h) => expect.closeTo(h, 6)))
    expect(pass.finalCells).toEqual([])
  })

  test('gru: gates z, r, h, and the reset before the product', () => {
    const pass = gruRecurrence(
      kernels,
      {
        ...one([1], 1),
        kernel: Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
        recurrentKernel: Float32Array.of(0.7, -0.8, 0.9),
        states: [Float32Array.of(0.5)],
      },
      sigmoid,
      tanh,
    )
    const z = logistic(0.1 + 0.4 + 0.7 * 0.5)
    const r = logistic(0.2 + 0.5 - 0.8 * 0.5)
    const n = Math.tanh(0.3 + 0.6 + 0.9 * r * 0.5)
    expect(pass.hidden[1]).toBeCloseTo(z * 0.5 + (1 - z) * n, 6)
  })

  test.each([kernels, { ...kernels, lstm: undefined }])('lstm: gates i, f, c, o of Keras', (own) => {
    const pass = lstmOn(own)({
      ...one([1], 1),
      kernel: Float32Array.of(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
      recurrentKernel: Float32Array.of(1, -1, 2, -2),
      states: [Float32Array.of(0.5), Float32Array.of(-0.25)],
    })
    const [i, f, g, o] = [0.6 + 0.5, 0.8 - 0.5, 1 + 1, 1.2 - 1]
    const c = logistic(f) * -0.25 + logistic(i) * Math.tanh(g)
    expect(pass.finalCells[0][0]).toBeCloseTo(c, 6)
    expect(pass.hidden[1]).toBeCloseTo(logistic(o) * Math.tanh(c), 6)
  })
})

describe.each(Object.entries(RECURRENCES))('%s', (_, { gates, states, run }) => {
  test('begins with the initial state, and has the output of every step', () => {
    const operands = operandsOf(gates, null, states)
    const { hidden } = run(operands)
    expect(hidden).toHaveLength(5 * 3 * 3)
    expect(hidden.slice(0, 9)).toEqual(operands.states[0])
  })

  test('leaves its operands as they are', () => {
    const operands = operandsOf(gates, MASK, states)
    const before = structuredClone(operands)
    lossOf(run, operands).gradients()
    expect(operands).toEqual(before)
  })

  test('repeats states and output at a masked step', () => {
    const operands = operandsOf(gates, MASK, states)
    const { hidden, finalCells } = run(operands)
    const row = (t: number, b: number) => [...hidden.subarray((t * 3 + b) * 3, (t * 3 + b + 1) * 3)]
    expect(row(1, 1)).toEqual(row(0, 1))
    expect(row(2, 1)).not.toEqual(row(1, 1))
    expect(row(3, 1)).toEqual(row(2, 1))
    for (let t = 1; t <= 4; t++) expect(row(t, 2)).toEqual(row(0, 2))
    if (states === 2) expect([...finalCells[0].subarray(6)]).toEqual([...operands.states[1].subarray(6)])
    // The masked row has no effect on the others.
    const { hidden: plain } = run(operandsOf(gates, null, states))
    for (let t = 0; t <= 4; t++) expect(row(t, 0)).toEqual([...plain.subarray(t * 9, t * 9 + 3)])
  })

  test.each([null, MASK])('has the gradients of central differences, with a mask of %o', (mask) => {
    const operands = operandsOf(gates, mask, states)
    const { x, kernel, recurrentKernel, states: ofStates } = lossOf(run, operands).gradients()
    const worst = (actual: Float32Array, expected: readonly number[]) => {
      expect(actual).toHaveLength(expected.length)
      return Math.max(...expected.map((value, index) => Math.abs(value - actual[index])))
    }
    expect(
      worst(
        kernel,
        differences(run, operands, (o) => o.kernel),
      ),
    ).toBeLessThan(DIFFERENCE_TOLERANCE)
    expect(
      worst(
        recurrentKernel,
        differences(run, operands, (o) => o.recurrentKernel),
      ),
    ).toBeLessThan(DIFFERENCE_TOLERANCE)
    for (const [index, own] of ofStates.entries())
      expect(
        worst(
          own,
          differences(run, operands, (o) => o.states[index]),
        ),
      ).toBeLessThan(DIFFERENCE_TOLERANCE)
    // Without the column of ones, whose gradient is not one of x.
    const byInput = differences(run, operands, (o) => o.x).filter((_, index) => index % 3 !== 2)
    expect(worst(x, byInput)).toBeLessThan(DIFFERENCE_TOLERANCE)
  })
})

test.each([
  ['simple', 1, 1],
  ['gru', 3, 1],
  ['lstm', 4, 2],
] as const)('%s by tensors computes the numbers of the loops, and disposes its tensors', (kind, gates, states) => {
  const { tensors } = reference.stats()
  for (const mask of [null, MASK]) {
    const operands = operandsOf(gates, mask, states)
    const runs = [onDevice(kind), RECURRENCES[kind === 'lstm' ? 'lstm by loops' : kind].run]
    const [one, other] = runs.map((run) => run(operands))
    expect([...one.hidden]).toEqual([...other.hidden].map((value) => expect.closeTo(value, 5)))
    expect(one.finalCells.map((each) => [...each])).toEqual(
      other.finalCells.map((each) => [...each].map((value) => expect.closeTo(value, 5))),
    )
  }
  expect(reference.stats().tensors).toBe(tensors)
})

test.each([null, MASK])('lstm by loops computes the numbers of the kernel, with a mask of %o', (mask) => {
  const operands = operandsOf(4, mask, 2)
  const [fused, loops] = [kernels, { ...kernels, lstm: undefined }].map((own) => lossOf(lstmOn(own), operands))
  expect(fused.loss).toBeCloseTo(loops.loss, 5)
  const [one, other] = [fused.gradients(), loops.gradients()]
  for (const key of ['x', 'kernel', 'recurrentKernel'] as const)
    expect([...one[key]]).toEqual([...other[key]].map((value) => expect.closeTo(value, 5)))
  for (const [index, state] of one.states.entries())
    expect([...state]).toEqual([...other.states[index]].map((value) => expect.closeTo(value, 5)))
})

test('lstm of activations that no kernel has is computed by loops, although the executor has a kernel', () => {
  const { relu, softsign } = ACTIVATIONS
  const names = { gateName: 'softsign', candidateName: 'relu', gate: softsign, candidate: relu } as const
  const operands = operandsOf(4, null, 2)
  const results = [kernels, { ...kernels, lstm: undefined }].map((own) => lstmRecurrence(own, operands, names).hidden)
  expect(results[0]).toEqual(results[1])
})
