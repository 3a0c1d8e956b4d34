import { required } from '@cudnn-rnn/canonical/rules'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { floatAt, type OptimizerUpdate, type RuleValues } from '@cudnn-rnn/ops/executor'

/** Runs the update that `update` names on a variable, its slots, and the source: a gradient, or the mask of a decay. */
export function applyUpdate(
  update: OptimizerUpdate,
  written: readonly FloatArray[],
  source: FloatArray | undefined,
): void {
  const [x, first, second] = written
  if (update.rule === 'weightDecay') {
    applyWeightDecay(x, source, update.rate)
    return
  }
  const g = required(source, 'every rule but weightDecay has a gradient, which the operation has checked')
  switch (update.rule) {
    case 'addScaled':
      addScaled(x, g, update.scale)
      break
    case 'momentum':
      applyMomentum(x, first, g, update)
      break
    case 'adam':
      applyAdam(x, first, second, g, update)
      break
    case 'rmsProp':
      applyRmsProp(x, first, second, g, update)
      break
    case 'adagrad':
      applyAdagrad(x, first, g, update)
      break
  }
}

/** θ ← θ + scale·g (SGD with scale = -learningRate; gradient accumulation with 1). */
function addScaled(variable: FloatArray, gradient: FloatArray, scale: number): void {
  for (let index = 0; index < variable.length; index++)
    variable[index] = floatAt(variable, index) + scale * floatAt(gradient, index)
}

/**
 * v ← μ·v + g;  θ ← θ - lr·v, or with Nesterov's look-ahead θ ← θ - lr·(g + μ·v). TensorFlow's `ApplyMomentum`.
 * With the rate in the velocity, as Keras: the same with lr·g for g and 1 for lr.
 */
function applyMomentum(
  variable: FloatArray,
  velocity: FloatArray,
  gradient: FloatArray,
  { learningRate, momentum, nesterov, rateInVelocity }: RuleValues<'momentum'>,
): void {
  const [rateIn, rateOut] = rateInVelocity ? [learningRate, 1] : [1, learningRate]
  for (let index = 0; index < variable.length; index++) {
    const g = rateIn * floatAt(gradient, index)
    const v = momentum * floatAt(velocity, index) + g
    velocity[index] = v
    variable[index] = floatAt(variable, index) - rateOut * (nesterov ? g + momentum * v : v)
  }
}

/** Adam, Kingma & Ba 2015, algorithm 1: ε is added to the root of the bias-corrected second moment, as PyTorch does. */
function applyAdam(
  variable: FloatArray,
  firstMoment: FloatArray,
  secondMoment: FloatArray,
  gradient: FloatArray,
  { learningRate, beta1, beta2, epsilon, step }: RuleValues<'adam'>,
): void {
  const correction1 = 1 - beta1 ** step
  const correction2 = 1 - beta2 ** step
  for (let index = 0; index < variable.length; index++) {
    const g = floatAt(gradient, index)
    const m = beta1 * floatAt(firstMoment, index) + (1 - beta1) * g
    const v = beta2 * floatAt(secondMoment, index) + (1 - beta2) * g * g
    firstMoment[index] = m
    secondMoment[index] = v
    variable[index] =
      floatAt(variable, index) - (learningRate * (m / correction1)) / (Math.sqrt(v / correction2) + epsilon)
  }
}

/** s ← ρ·s + (1-ρ)·g²;  v ← μ·v + g/root(s);  θ ← θ - lr·v. Hinton's lecture 6e, with momentum as the libraries add it. */
function applyRmsProp(
  variable: FloatArray,
  meanSquare: FloatArray,
  velocity: FloatArray,
  gradient: FloatArray,
  { learningRate, decay, momentum, rateInVelocity, ...root }: RuleValues<'rmsProp'>,
): void {
  const [rateIn, rateOut] = rateInVelocity ? [learningRate, 1] : [1, learningRate]
  for (let index = 0; index < variable.length; index++) {
    const g = floatAt(gradient, index)
    const s = decay * floatAt(meanSquare, index) + (1 - decay) * g * g
    const v = momentum * floatAt(velocity, index) + (rateIn * g) / rootOf(s, root)
    meanSquare[index] = s
    velocity[index] = v
    variable[index] = floatAt(variable, index) - rateOut * v
  }
}

/** s ← s + g²;  θ ← θ - lr·g/root(s). Duchi et al. 2011, the diagonal form. */
function applyAdagrad(
  variable: FloatArray,
  sumOfSquares: FloatArray,
  gradient: FloatArray,
  { learningRate, ...root }: RuleValues<'adagrad'>,
): void {
  for (let index = 0; index < variable.length; index++) {
    const g = floatAt(gradient, index)
    const s = floatAt(sumOfSquares, index) + g * g
    sumOfSquares[index] = s
    variable[index] = floatAt(variable, index) - (learningRate * g) / rootOf(s, root)
  }
}

/** θ ← θ - rate·mask·θ. Loshchilov & Hutter 2019. */
function applyWeightDecay(variable: FloatArray, mask: FloatArray | undefined, rate: number): void {
  for (let index = 0; index < variable.length; index++) {
    variable[index] =
      floatAt(variable, index) - rate * (mask === undefined ? 1 : floatAt(mask, index)) * floatAt(variable, index)
  }
}

function rootOf(
  square: number,
  { epsilon, epsilonInRoot }: Pick<RuleValues<'adagrad'>, 'epsilon' | 'epsilonInRoot'>,
): number {
  return epsilonInRoot ? Math.sqrt(square + epsilon) : Math.sqrt(square) + epsilon
}
