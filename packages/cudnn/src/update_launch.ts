import type { OptimizerUpdate } from '@cudnn-rnn/executor-kit'
import type { KernelName } from './kernel_table.js'

/** The kernel of an update, and the scalars that follow its buffers. */
export function launchOf(update: OptimizerUpdate): {
  readonly kernel: KernelName
  readonly scalars: readonly number[]
} {
  switch (update.rule) {
    case 'addScaled':
      return { kernel: 'add_scaled', scalars: [update.scale] }
    case 'momentum': {
      const { momentum, nesterov } = update
      return { kernel: 'apply_momentum', scalars: [momentum, ...ratesOf(update), Number(nesterov)] }
    }
    case 'adam': {
      const { learningRate, beta1, beta2, epsilon, step } = update
      const corrections = [1 / (1 - beta1 ** step), 1 / (1 - beta2 ** step)]
      return {
        kernel: 'apply_adam',
        scalars: [learningRate, beta1, 1 - beta1, beta2, 1 - beta2, ...corrections, epsilon],
      }
    }
    case 'rmsProp': {
      const { decay, momentum, epsilon, epsilonInRoot } = update
      return {
        kernel: 'apply_rms_prop',
        scalars: [decay, 1 - decay, momentum, ...ratesOf(update), epsilon, Number(epsilonInRoot)],
      }
    }
    case 'adagrad':
      return { kernel: 'apply_adagrad', scalars: [update.learningRate, update.epsilon, Number(update.epsilonInRoot)] }
    case 'weightDecay':
      return { kernel: 'apply_weight_decay', scalars: [update.rate] }
  }
}

/** The rate of what enters the velocity, and of what leaves it. */
function ratesOf({ learningRate, rateInVelocity }: { learningRate: number; rateInVelocity: boolean }): number[] {
  return rateInVelocity ? [learningRate, 1] : [1, learningRate]
}
