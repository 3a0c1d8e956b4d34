import type { OPTIMIZER_RULES, OptimizerRule } from './optimizer_rules.js'

type Meanings = {
  readonly [Rule in OptimizerRule]: {
    readonly equations: readonly string[]
    readonly options: { readonly [Name in keyof (typeof OPTIMIZER_RULES)[Rule]['options']]: string }
  }
}

const LEARNING_RATE = 'learning rate'
const MOMENTUM = 'how much of the velocity remains'
const RATE_IN_VELOCITY =
  'false: the rate multiplies the velocity (PyTorch, TensorFlow’s `ApplyMomentum`); true: it multiplies the increment of the velocity (Keras), which differs when the rate changes'
const ROOT_EPSILON = 'keeps the division finite'
const EPSILON_IN_ROOT = 'false: root(x) = √x + ε (PyTorch); true: √(x + ε) (Keras, TensorFlow’s RMSProp)'

/** Equations and options of each rule, for the documentation alone: bundles of pages have the rules without these texts. */
export const OPTIMIZER_MEANINGS: Meanings = {
  sgd: {
    equations: ['variable ← variable − learningRate·gradient'],
    options: { learningRate: LEARNING_RATE },
  },
  momentum: {
    equations: [
      'velocity ← momentum·velocity + gradient',
      'variable ← variable − learningRate·velocity',
      'nesterov: variable ← variable − learningRate·(gradient + momentum·velocity)',
    ],
    options: {
      learningRate: LEARNING_RATE,
      momentum: MOMENTUM,
      nesterov: 'Nesterov’s look-ahead',
      rateInVelocity: RATE_IN_VELOCITY,
    },
  },
  adam: {
    equations: [
      'firstMoment ← β₁·firstMoment + (1 − β₁)·gradient',
      'secondMoment ← β₂·secondMoment + (1 − β₂)·gradient²',
      'variable ← variable − learningRate·(firstMoment/(1 − β₁ᵗ)) / (√(secondMoment/(1 − β₂ᵗ)) + ε)',
    ],
    options: {
      learningRate: LEARNING_RATE,
      beta1: 'β₁',
      beta2: 'β₂',
      epsilon:
        'ε, added to the root of the bias-corrected second moment (algorithm 1 of the paper, arXiv 1412.6980; PyTorch)',
      step: 't, 1 for the first update. On executors with `Backend.steps` also a scalar tensor that counts updates and is read when this one runs: a count that `whereFinite` guards leaves skipped updates out. float32 counts to 2²⁴',
      epsilonHat:
        'true: ε is the paper’s ε̂, added to √secondMoment before the bias correction (TensorFlow, Keras), which is ε/√(1 − β₂ᵗ) after it',
    },
  },
  rmsProp: {
    equations: [
      'meanSquare ← decay·meanSquare + (1 − decay)·gradient²',
      'velocity ← momentum·velocity + gradient/root(meanSquare)',
      'variable ← variable − learningRate·velocity',
    ],
    options: {
      learningRate: LEARNING_RATE,
      decay: 'how much of the mean square remains (PyTorch’s alpha, TensorFlow’s rho)',
      momentum: MOMENTUM,
      epsilon: ROOT_EPSILON,
      epsilonInRoot: EPSILON_IN_ROOT,
      rateInVelocity: RATE_IN_VELOCITY,
    },
  },
  adagrad: {
    equations: [
      'sumOfSquares ← sumOfSquares + gradient²',
      'variable ← variable − learningRate·gradient/root(sumOfSquares)',
    ],
    options: { learningRate: LEARNING_RATE, epsilon: ROOT_EPSILON, epsilonInRoot: EPSILON_IN_ROOT },
  },
  weightDecay: {
    equations: ['variable ← variable − rate·mask·variable (decoupled weight decay; null: the mask is 1 everywhere)'],
    options: { rate: 'learning rate times coefficient of the decay' },
  },
}
