import type { GradientTape, Value } from '@cudnn-rnn/ops/executor'
import type { ActivationName } from './activation.js'

/** An activation by the operations of an executor. */
export type DeviceActivation = (t: GradientTape, x: Value) => Value

/** Activations that executors have operations for: softsign is not among them. */
export const DEVICE_ACTIVATIONS: Readonly<Partial<Record<ActivationName, DeviceActivation>>> = Object.freeze({
  elu: (t, x) => t.activate(x, 'elu'),
  hardSigmoid: (t, x) => t.activate(t.add(t.multiply(x, 0.2), 0.5), 'relu', { maximum: 1 }),
  linear: (_, x) => x,
  relu: (t, x) => t.activate(x, 'relu'),
  relu6: (t, x) => t.activate(x, 'relu', { maximum: 6 }),
  sigmoid: (t, x) => t.activate(x, 'sigmoid'),
  softplus: (t, x) => t.activate(x, 'softplus'),
  tanh: (t, x) => t.activate(x, 'tanh'),
})
