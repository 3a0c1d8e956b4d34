import type { BackendTensor } from '@cudnn-rnn/ops'
import type { DeviceActivation } from './device_activation.js'
import type { DeviceTensors } from './device_tensors.js'
import type { RecurrentProduct } from './recurrent_product.js'

/** The activations of a cell and its products with the recurrent kernel, one for each block of gates. */
interface DeviceCell {
  readonly device: DeviceTensors
  readonly gate: DeviceActivation
  readonly candidate: DeviceActivation
  readonly products: readonly RecurrentProduct[]
}

/** A step that was computed, and its backward. */
export interface DeviceStep {
  /** h, and c of LSTM, [B,H] each. */
  readonly states: readonly BackendTensor[]
  /** From the gradients of the states, the gradients of z and of the states before. */
  backward(gradients: readonly BackendTensor[]): {
    readonly z: BackendTensor
    readonly states: readonly BackendTensor[]
  }
}

/** One step from z = x·W + b, [B,G·H], and the states before. The equations are in the recurrences of their names. */
export type DeviceStepRule = (cell: DeviceCell, z: BackendTensor, states: readonly BackendTensor[]) => DeviceStep

export const simpleStep: DeviceStepRule = ({ device, candidate, products: [product] }, z, [h]) => {
  const after = candidate.value(device, device.sum(z, product.forward(h)))
  return {
    states: [after],
    backward([dh]) {
      const dz = candidate.gradient(device, after, dh)
      return { z: dz, states: [product.backward(dz)] }
    },
  }
}

export const gruStep: DeviceStepRule = ({ device, gate, candidate, products }, z, [h]) => {
  const [ofGates, ofCandidate] = products
  const units = h.shape[1]
  const [zUpdate, zReset, zCandidate] = device.split(z, units)
  const gates = device.sum(device.ops.concat([zUpdate, zReset]), ofGates.forward(h))
  const [update, reset] = device.split(gate.value(device, gates), units)
  const kept = device.multiply(reset, h)
  const n = candidate.value(device, device.sum(zCandidate, ofCandidate.forward(kept)))
  const difference = device.sum(h, n, -1)
  return {
    // n + z∘(h - n)
    states: [device.sum(n, device.multiply(update, difference))],
    backward([dh]) {
      const throughUpdate = device.multiply(dh, update)
      const dzCandidate = candidate.gradient(device, n, device.sum(dh, throughUpdate, -1))
      const dKept = ofCandidate.backward(dzCandidate)
      const dzUpdate = gate.gradient(device, update, device.multiply(dh, difference))
      const dzReset = gate.gradient(device, reset, device.multiply(dKept, h))
      const dzGates = device.ops.concat([dzUpdate, dzReset])
      const direct = device.sum(throughUpdate, device.multiply(dKept, reset))
      return {
        z: device.ops.concat([dzGates, dzCandidate]),
        states: [device.sum(direct, ofGates.backward(dzGates))],
      }
    },
  }
}

export const lstmStep: DeviceStepRule = ({ device, gate, candidate, products: [product] }, z, [h, c]) => {
  const [zInput, zForget, zCandidate, zOutput] = device.split(device.sum(z, product.forward(h)), h.shape[1])
  const [i, f, o] = [zInput, zForget, zOutput].map((each) => gate.value(device, each))
  const g = candidate.value(device, zCandidate)
  const after = device.sum(device.multiply(f, c), device.multiply(i, g))
  const activated = candidate.value(device, after)
  return {
    states: [device.multiply(o, activated), after],
    backward([dh, dc]) {
      const dCell = device.sum(candidate.gradient(device, activated, device.multiply(dh, o)), dc)
      const dz = device.ops.concat([
        gate.gradient(device, i, device.multiply(dCell, g)),
        gate.gradient(device, f, device.multiply(dCell, c)),
        candidate.gradient(device, g, device.multiply(dCell, i)),
        gate.gradient(device, o, device.multiply(dh, activated)),
      ])
      return { z: dz, states: [product.backward(dz), device.multiply(dCell, f)] }
    },
  }
}
