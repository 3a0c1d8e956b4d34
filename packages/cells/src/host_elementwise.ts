import type { FloatArray } from '@cudnn-rnn/canonical'
import type { ElementwiseFunction } from '@cudnn-rnn/ops/executor'
import type { LSTMRule } from './lstm_rule.js'
import type { HostValue, StepTape } from './step_tape.js'

/** f(x) of every element. */
export function activate(tape: StepTape, x: HostValue, { value, slope }: ElementwiseFunction): HostValue {
  const { data } = x
  const y = tape.newArray(data.length)
  for (let k = 0; k < y.length; k++) y[k] = value(data[k])
  return tape.result(y, x.shape, (dy) => {
    const dx = x.gradient
    for (let k = 0; k < dx.length; k++) dx[k] += dy[k] * slope(y[k], data[k])
  })
}

/** scale·x + shift */
export function affine(tape: StepTape, x: HostValue, scale: number, shift: number): HostValue {
  const y = tape.newArray(x.data.length)
  for (let k = 0; k < y.length; k++) y[k] = scale * x.data[k] + shift
  return tape.result(y, x.shape, (dy) => {
    const dx = x.gradient
    for (let k = 0; k < dx.length; k++) dx[k] += scale * dy[k]
  })
}

/** x bounded to ±bound. The gradient passes through the bound, or is 0 where the bound holds x. */
export function clip(tape: StepTape, x: HostValue, bound: number, gradient: LSTMRule['clipGradient']): HostValue {
  if (bound === Number.POSITIVE_INFINITY) return x
  const y = tape.newArray(x.data.length)
  for (let k = 0; k < y.length; k++) y[k] = Math.min(bound, Math.max(-bound, x.data[k]))
  // The bound in the dtype, so that a bounded element compares equal to it.
  const limit = tape.newArray(1).fill(bound)[0]
  return tape.result(y, x.shape, (dy) => {
    const dx = x.gradient
    for (let k = 0; k < dx.length; k++) {
      if (gradient === 'straight_through' || Math.abs(y[k]) < limit) dx[k] += dy[k]
    }
  })
}

/** a + b */
export function add(tape: StepTape, a: HostValue, b: HostValue): HostValue {
  const y = tape.newArray(a.data.length)
  for (let k = 0; k < y.length; k++) y[k] = a.data[k] + b.data[k]
  return tape.result(y, a.shape, (dy) => {
    addTo(a.gradient, dy)
    addTo(b.gradient, dy)
  })
}

/** a∘b */
export function multiply(tape: StepTape, a: HostValue, b: HostValue): HostValue {
  const y = tape.newArray(a.data.length)
  for (let k = 0; k < y.length; k++) y[k] = a.data[k] * b.data[k]
  return tape.result(y, a.shape, (dy) => {
    const da = a.gradient
    const db = b.gradient
    for (let k = 0; k < y.length; k++) {
      da[k] += dy[k] * b.data[k]
      db[k] += dy[k] * a.data[k]
    }
  })
}

/** g∘a + (1-g)∘b */
export function mix(tape: StepTape, g: HostValue, a: HostValue, b: HostValue): HostValue {
  const y = tape.newArray(a.data.length)
  for (let k = 0; k < y.length; k++) y[k] = g.data[k] * a.data[k] + (1 - g.data[k]) * b.data[k]
  return tape.result(y, a.shape, (dy) => {
    const dg = g.gradient
    const da = a.gradient
    const db = b.gradient
    for (let k = 0; k < y.length; k++) {
      dg[k] += dy[k] * (a.data[k] - b.data[k])
      da[k] += dy[k] * g.data[k]
      db[k] += dy[k] * (1 - g.data[k])
    }
  })
}

/** x∘m with constants m, as many as x has elements, or one row of them for all rows. */
export function masked(tape: StepTape, x: HostValue, mask: FloatArray): HostValue {
  const y = tape.newArray(x.data.length)
  for (let k = 0; k < y.length; k++) y[k] = x.data[k] * mask[k % mask.length]
  return tape.result(y, x.shape, (dy) => {
    const dx = x.gradient
    for (let k = 0; k < dx.length; k++) dx[k] += dy[k] * mask[k % mask.length]
  })
}

function addTo(target: FloatArray, source: FloatArray): void {
  for (let k = 0; k < target.length; k++) target[k] += source[k]
}
