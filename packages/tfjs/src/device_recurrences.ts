import { required } from '@cudnn-rnn/canonical/rules'
import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import { type GradientTape, handleOf, Recording, scope, type Value } from '@cudnn-rnn/ops/executor'
import type { ActivationName } from './activation.js'
import type { PlannedCell } from './recurrent_layer.js'
import type { Recurrences, SequenceOperands, SequencePass } from './sequence.js'

/** An activation by the operations of an executor. */
type DeviceActivation = (t: GradientTape, x: Value) => Value

/** Activations that executors have operations for: softsign is not among them. */
const DEVICE_ACTIVATIONS: Readonly<Partial<Record<ActivationName, DeviceActivation>>> = Object.freeze({
  elu: (t, x) => t.activate(x, 'elu'),
  hardSigmoid: (t, x) => t.activate(t.add(t.multiply(x, 0.2), 0.5), 'relu', { maximum: 1 }),
  linear: (_, x) => x,
  relu: (t, x) => t.activate(x, 'relu'),
  relu6: (t, x) => t.activate(x, 'relu', { maximum: 6 }),
  sigmoid: (t, x) => t.activate(x, 'sigmoid'),
  softplus: (t, x) => t.activate(x, 'softplus'),
  tanh: (t, x) => t.activate(x, 'tanh'),
})

/** The part of an executor that a pass needs: tensors that can be read while the caller waits. */
export type SynchronousDevice = Backend & Required<Pick<Backend, 'readSync'>>

interface DeviceCell {
  readonly gate: DeviceActivation
  readonly candidate: DeviceActivation
  /** Blocks of columns of the recurrent kernel [H,G·H], by which the cell multiplies separately. */
  readonly kernels: readonly Value[]
}

/** The states after a step, [B,H] each, from z = x·W + b, [B,G·H], and those before it. */
type Equations = (t: GradientTape, cell: DeviceCell, z: Value, states: readonly Value[]) => readonly Value[]

/** The equations are in the recurrences of their names. */
const EQUATIONS: Readonly<Record<PlannedCell['kind'], Equations>> = {
  simple: (t, { candidate, kernels: [kernel] }, z, [h]) => [candidate(t, t.add(z, t.matmul(h, kernel)))],
  gru(t, { gate, candidate, kernels: [ofGates, ofCandidate] }, z, [h]) {
    const units = h.shape[1]
    const gates = gate(t, t.add(t.columns(z, 0, 2 * units), t.matmul(h, ofGates)))
    const [update, reset] = t.split(gates, 2)
    const n = candidate(t, t.add(t.columns(z, 2 * units, units), t.matmul(t.multiply(reset, h), ofCandidate)))
    return [t.add(n, t.multiply(update, t.subtract(h, n)))]
  },
  lstm(t, { gate, candidate, kernels: [kernel] }, z, [h, c]) {
    const [zInput, zForget, zCandidate, zOutput] = t.split(t.add(z, t.matmul(h, kernel)), 4)
    const kept = t.multiply(gate(t, zForget), c)
    const after = t.add(kept, t.multiply(gate(t, zInput), candidate(t, zCandidate)))
    return [t.multiply(gate(t, zOutput), candidate(t, after)), after]
  },
}

/**
 * The recurrences on a device: the steps are queued, and JavaScript waits for the results at the end of each pass. Nothing stays on
 * the device between the passes, as TensorFlow.js does not report that a gradient is not requested: a backward computes the forward
 * again.
 */
export function deviceRecurrences(backend: SynchronousDevice): Recurrences {
  const read = (x: BackendTensor) => backend.readSync(x).data as Float32Array
  return {
    activations: Object.keys(DEVICE_ACTIVATIONS) as ActivationName[],
    run: (cell, o) => ({
      ...scope(() => {
        const { hidden, states, t } = forward(backend, cell, o, false)
        return { hidden: read(t.stack(hidden).tensor), finalCells: states.slice(1).map(({ tensor }) => read(tensor)) }
      }),
      backward: (outputs, states) => scope(() => gradients(backend, cell, o, outputs, states)),
    }),
  }
}

function gradients(
  backend: SynchronousDevice,
  cell: PlannedCell,
  o: SequenceOperands,
  outputs: Float32Array,
  ofStates: readonly Float32Array[],
): ReturnType<SequencePass['backward']> {
  const { time, batch, inputs, units } = o
  const { t, operands, hidden, states } = forward(backend, cell, o, true)
  const { recording } = t
  const ofOutputs = backend.tensor({ data: outputs, shape: [time, batch, units] })
  recording.passBack([
    [t.stack(hidden.slice(1)), ofOutputs],
    ...states.map((state, k) => [state, backend.tensor({ data: ofStates[k], shape: state.shape })] as const),
  ])
  const [x, ...others] = recording.take([], operands)
  const [kernel, recurrentKernel, ...own] = others.map((each) => backend.readSync(each).data as Float32Array)
  const ofInput = backend.readSync(backend.ops.columns(x, 0, inputs)).data as Float32Array
  return { x: () => ofInput, kernel, recurrentKernel, states: own }
}

/** A tape with x, kernel, recurrent kernel and initial states, the h before and after each step, and the final states. */
function forward(backend: SynchronousDevice, cell: PlannedCell, o: SequenceOperands, isTraining: boolean) {
  const { time, batch, units, mask } = o
  const rows = o.x.length / (time * batch)
  const columns = o.kernel.length / rows
  const operand = (name: string, data: Float32Array, shape: readonly number[]) => {
    return { name, value: backend.tensor({ data, shape }) }
  }
  const operands = [
    operand('x', o.x, [time, batch, rows]),
    operand('kernel', o.kernel, [rows, columns]),
    operand('recurrentKernel', o.recurrentKernel, [units, columns]),
    ...o.states.map((each) => operand('a state', each, [batch, units])),
  ]
  const t = handleOf(new Recording(backend, operands, isTraining))
  const [x, kernel, recurrentKernel, ...initial] = operands.map((each) => t.value(each))
  // GRU multiplies by its gates, and by its candidate.
  const widths = cell.kind === 'gru' ? [2 * units, units] : [columns]
  const parts = {
    gate: activationOf(cell.recurrentActivation),
    candidate: activationOf(cell.activation),
    kernels: widths.map((width, k) => t.columns(recurrentKernel, k === 0 ? 0 : widths[0], width)),
  }
  let states: readonly Value[] = initial
  const hidden = [initial[0]]
  for (const [step, z] of t.unstack(t.matmul(x, kernel)).entries()) {
    const before = states
    const active = mask?.subarray(step * batch, (step + 1) * batch)
    states = t.scope((inner) => {
      const after = EQUATIONS[cell.kind](inner, parts, z, before)
      if (active === undefined || active.every((row) => row !== 0)) return after
      const condition = { data: Float32Array.from(active), shape: [batch, 1] }
      return after.map((each, k) => inner.select(condition, each, before[k]))
    })
    hidden.push(states[0])
  }
  return { t, operands, hidden, states }
}

function activationOf(name: ActivationName): DeviceActivation {
  return required(DEVICE_ACTIVATIONS[name], 'calls with other activations are passed on')
}
