import { required } from '@cudnn-rnn/canonical/rules'
import type { OptimizerUpdate } from '@cudnn-rnn/ops/executor'
import type { CommandList } from '../device/command_list.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { BLOCK, blocksOf, launchEach } from '../device/device_kernels.js'
import type { DeviceSession } from '../device/device_session.js'

/** The buffers of an update; `source` is its gradient, source or mask. */
export interface UpdateOperands {
  /** The variable and its slots, in the order of the rule. */
  readonly written: readonly DeviceBuffer[]
  readonly source: DeviceBuffer | undefined
  /** The scalar that counts Adam's updates on the device. */
  readonly steps: DeviceBuffer | undefined
  /** Skips the update if this scalar is not finite. */
  readonly guard: DeviceBuffer | undefined
}

/**
 * Adds the kernel of an update over `count` elements to `list`. Numbers that change from step to step are `scalar` fields:
 * a replayed graph reads them from memory. Flags are `size` fields and part of the graph.
 */
export function launchUpdate(
  session: DeviceSession,
  list: CommandList,
  update: OptimizerUpdate,
  count: number,
  { written, source, steps, guard }: UpdateOperands,
): void {
  const [x, first, second] = written as [DeviceBuffer, DeviceBuffer, DeviceBuffer]
  if (update.rule === 'weightDecay') {
    launchEach(session, list, 'apply_weight_decay', count, { x, mask: source, count, rate: update.rate, guard })
    return
  }
  const g = required(source, 'every rule but weightDecay has a gradient, which the operation has checked')
  const shared = { x, g, count, guard }
  switch (update.rule) {
    case 'addScaled':
      launchEach(session, list, 'add_scaled', count, { x, y: g, count, scale: update.scale, guard })
      break
    case 'momentum': {
      const { momentum, nesterov } = update
      const fields = { v: first, momentum, nesterov: Number(nesterov), ...shared, ...ratesOf(update) }
      launchEach(session, list, 'apply_momentum', count, fields)
      break
    }
    case 'adam': {
      const { learningRate: rate, beta1, beta2, epsilon } = update
      // Formed in float64: rounding 0.999 to float32 would change 1 - 0.999 by some 1e-5 of its value.
      const [rest1, rest2, epsilonHat] = [1 - beta1, 1 - beta2, Number(update.epsilonHat)]
      // The same in every step that the device counts: scalars that do not change are not sent.
      const step = steps === undefined ? update.step : 1
      const tensor = { x, m: first, v: second, g, count }
      const numbers = { steps, rate, beta1, rest1, beta2, rest2, step, epsilon, epsilonHat, guard }
      // All threads read the count and the guard first, so a launch that writes one of them takes no other tensor.
      const joins = !written.some((buffer) => buffer === steps || buffer === guard)
      list.launchTensors('apply_adam', blocksOf(session, count), BLOCK, [tensor], numbers, joins)
      break
    }
    case 'rmsProp': {
      const { decay, momentum, epsilon, epsilonInRoot } = update
      const numbers = { decay, rest: 1 - decay, momentum, epsilon, epsilonInRoot: Number(epsilonInRoot) }
      const fields = { s: first, v: second, ...shared, ...ratesOf(update), ...numbers }
      launchEach(session, list, 'apply_rms_prop', count, fields)
      break
    }
    case 'adagrad': {
      const { learningRate: rate, epsilon, epsilonInRoot } = update
      const fields = { s: first, rate, epsilon, epsilonInRoot: Number(epsilonInRoot), ...shared }
      launchEach(session, list, 'apply_adagrad', count, fields)
      break
    }
  }
}

/** Two factors of a momentum update: of the gradient added to the velocity, and of the velocity in the update. */
function ratesOf({ learningRate, rateInVelocity }: { learningRate: number; rateInVelocity: boolean }) {
  return rateInVelocity ? { rateIn: learningRate, rateOut: 1 } : { rateIn: 1, rateOut: learningRate }
}
