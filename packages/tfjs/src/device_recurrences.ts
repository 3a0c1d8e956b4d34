import { required } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor } from '@cudnn-rnn/ops'
import { copyRow, scope } from '@cudnn-rnn/ops/executor'
import type { ActivationName } from './activation.js'
import { batchMajor, timeMajor } from './batch_order.js'
import { DEVICE_ACTIVATIONS, type DeviceActivation } from './device_activation.js'
import { type DeviceStep, type DeviceStepRule, gruStep, lstmStep, simpleStep } from './device_step.js'
import { DeviceTensors, type SynchronousDevice } from './device_tensors.js'
import type { PlannedCell } from './recurrent_layer.js'
import { RecurrentProduct } from './recurrent_product.js'
import type { Recurrences, SequenceOperands, SequencePass } from './sequence.js'

const RULES: Readonly<Record<PlannedCell['kind'], DeviceStepRule>> = {
  gru: gruStep,
  lstm: lstmStep,
  simple: simpleStep,
}

/**
 * The recurrences on a device: the steps are queued, and JavaScript waits for the results at the end of each pass. Nothing stays on
 * the device between the passes, as TensorFlow.js does not report that a gradient is not requested: a backward computes the forward
 * again.
 */
export function deviceRecurrences(backend: SynchronousDevice): Recurrences {
  return {
    activations: Object.keys(DEVICE_ACTIVATIONS) as ActivationName[],
    run: (cell, o) => ({
      ...scope(() => results(new DeviceTensors(backend), cell, o)),
      backward: (outputs, states) => scope(() => gradients(new DeviceTensors(backend), cell, o, outputs, states)),
    }),
  }
}

function results(device: DeviceTensors, cell: PlannedCell, o: SequenceOperands) {
  const { steps, initial } = forward(device, cell, o)
  const { time, batch, units } = o
  const hidden = device.ops.concat([initial[0], ...steps.map(({ states }) => states[0])])
  const [, ...cells] = steps[time - 1].states
  return {
    hidden: timeMajor(device.read(hidden), { time: time + 1, batch, columns: units, reversed: false }),
    finalCells: cells.map((each) => device.read(each)),
  }
}

function gradients(
  device: DeviceTensors,
  cell: PlannedCell,
  o: SequenceOperands,
  outputs: Float32Array,
  states: readonly Float32Array[],
): ReturnType<SequencePass['backward']> {
  const { ops } = device
  const { time, batch, inputs, units } = o
  const { steps, x, kernel, products } = forward(device, cell, o)
  const columns = kernel.shape[1]
  const ordered = batchMajor(outputs, { time, batch, columns: units, reversed: false })
  const ofOutputs = device.split(device.of(ordered, [batch, time * units]), units)
  const ofSteps: BackendTensor[] = []
  let after = states.map((each) => device.of(each, [batch, units]))
  for (let t = time - 1; t >= 0; t--) {
    const { step, mask } = steps[t]
    const arriving = after.with(0, device.sum(after[0], ofOutputs[t]))
    const own = mask === undefined ? arriving : arriving.map((each) => device.multiply(mask.active, each))
    const before = step.backward(own)
    ofSteps.unshift(before.z)
    after = before.states.map((each, k) =>
      mask === undefined ? each : device.sum(each, device.multiply(mask.masked, arriving[k])),
    )
  }
  const dz = ops.reshape(ops.concat(ofSteps), [batch * time, columns])
  const ofInput = ops.linearGradients(x, kernel, dz)
  const xGradient = device.read(ops.columns(ofInput.input, 0, inputs))
  return {
    x: () => timeMajor(xGradient, { time, batch, columns: inputs, reversed: false }),
    kernel: device.read(ofInput.kernel),
    recurrentKernel: device.read(ops.concat(products.map((product) => product.kernelGradient()))),
    states: after.map((each) => device.read(each)),
  }
}

/** The rows in which a step is computed, and those in which it is masked, as factors [B,H]. */
interface StepMask {
  readonly active: BackendTensor
  readonly masked: BackendTensor
}

interface MaskedStep {
  readonly step: DeviceStep
  /** Undefined if no row is masked. */
  readonly mask: StepMask | undefined
  /** States after the step, for masked rows from before it. */
  readonly states: readonly BackendTensor[]
}

function forward(device: DeviceTensors, cell: PlannedCell, o: SequenceOperands) {
  const { ops } = device
  const { time, batch, units } = o
  const rows = o.x.length / (time * batch)
  const columns = o.kernel.length / rows
  const ordered = batchMajor(o.x, { time, batch, columns: rows, reversed: false })
  const x = device.of(ordered, [batch * time, rows])
  const kernel = device.of(o.kernel, [rows, columns])
  const products = blocksOf(cell, o.recurrentKernel, columns).map((block) => new RecurrentProduct(device, block, units))
  const parts = {
    ...{ device, products },
    gate: activationOf(cell.recurrentActivation),
    candidate: activationOf(cell.activation),
  }
  const initial = o.states.map((each) => device.of(each, [batch, units]))
  const steps: MaskedStep[] = []
  let states: readonly BackendTensor[] = initial
  for (const [t, z] of device
    .split(ops.reshape(device.product(x, kernel), [batch, time * columns]), columns)
    .entries()) {
    const before = states
    const step = RULES[cell.kind](parts, z, before)
    const mask = maskOf(device, o, t)
    states = step.states.map((each, k) =>
      mask === undefined
        ? each
        : device.sum(device.multiply(mask.active, each), device.multiply(mask.masked, before[k])),
    )
    steps.push({ step, mask, states })
  }
  return { steps, initial, x, kernel, products }
}

function activationOf(name: ActivationName): DeviceActivation {
  return required(DEVICE_ACTIVATIONS[name], 'calls with other activations are passed on')
}

/** The blocks of the recurrent kernel [H,G·H] by which the cell multiplies separately: GRU's gates, and its candidate. */
function blocksOf({ kind }: PlannedCell, kernel: Float32Array, columns: number): readonly Float32Array[] {
  if (kind !== 'gru') return [kernel]
  const units = columns / 3
  return [
    [0, 2 * units],
    [2 * units, units],
  ].map(([begin, width]) => {
    const block = new Float32Array(units * width)
    for (let row = 0; row < units; row++) copyRow(block, row * width, kernel, row * columns + begin, width)
    return block
  })
}

function maskOf(device: DeviceTensors, { mask, batch, units }: SequenceOperands, t: number): StepMask | undefined {
  const rows = mask?.subarray(t * batch, (t + 1) * batch)
  if (rows === undefined || rows.every((row) => row !== 0)) return undefined
  const factor = (one: (row: number) => boolean) =>
    device.of(
      Float32Array.from({ length: batch * units }, (_, k) => (one(rows[Math.floor(k / units)]) ? 1 : 0)),
      [batch, units],
    )
  return { active: factor((row) => row !== 0), masked: factor((row) => row === 0) }
}
