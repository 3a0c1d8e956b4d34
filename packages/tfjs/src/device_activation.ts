import type { BackendTensor, LayerOps } from '@cudnn-rnn/ops'
import type { ActivationName } from './activation.js'
import type { DeviceTensors } from './device_tensors.js'

/** An activation by the operations of an executor. The gradient is computed from the result y. */
export interface DeviceActivation {
  value(device: DeviceTensors, x: BackendTensor): BackendTensor
  gradient(device: DeviceTensors, y: BackendTensor, dy: BackendTensor): BackendTensor
}

function operation(name: Parameters<LayerOps['activate']>[1], maximum?: number): DeviceActivation {
  return {
    value: ({ ops }, x) => ops.activate(x, name, { maximum }),
    gradient: ({ ops }, y, dy) => ops.activationGradient(y, dy, name, { maximum }),
  }
}

const upToOne = operation('relu', 1)
/** min(max(0.2·x + 0.5, 0), 1) */
const hardSigmoid: DeviceActivation = {
  value: (device, x) => upToOne.value(device, device.sum(device.filled(0.5, x.shape), x, 0.2)),
  gradient(device, y, dy) {
    return device.sum(device.filled(0, y.shape), upToOne.gradient(device, y, dy), 0.2)
  },
}

/** Activations that executors have operations for: softsign is not among them. */
export const DEVICE_ACTIVATIONS: Readonly<Partial<Record<ActivationName, DeviceActivation>>> = Object.freeze({
  elu: operation('elu'),
  hardSigmoid,
  linear: { value: (_, x) => x, gradient: (_, __, dy) => dy },
  relu: operation('relu'),
  relu6: operation('relu', 6),
  sigmoid: operation('sigmoid'),
  softplus: operation('softplus'),
  tanh: operation('tanh'),
})
