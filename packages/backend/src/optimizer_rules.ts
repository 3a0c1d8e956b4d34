import type { BackendTensor, TensorLike } from './backend_tensor.js'

/** A number among the options of a rule. */
interface NumberOption {
  readonly meaning: string
  readonly minimum: number
  /** The value must be less. */
  readonly below?: number
  readonly default?: number
}

/** A switch among the options of a rule. */
interface FlagOption {
  readonly meaning: string
  readonly default: boolean
}

/** A number of updates, which an executor with `Backend.steps` also takes as a scalar tensor. */
interface CountOption extends NumberOption {
  readonly isCount: true
}

/** One rule: its operands, its equations and its options, in the order in which kernels take them. */
interface RuleRow {
  /** As messages and docs/optimizer_rules.md name it. */
  readonly title: string
  /** Tensors that are kept from update to update, of the variable's shape and layout; zero before the first unless stated. */
  readonly slots: readonly string[]
  /** The tensor that is only read. */
  readonly source: { readonly name: string; readonly isNullable?: true }
  readonly equations: readonly string[]
  readonly options: Readonly<Record<string, NumberOption | FlagOption | CountOption>>
}

const LEARNING_RATE = { minimum: 0, meaning: 'learning rate' } as const
const GRADIENT = { name: 'gradient' } as const
const MOMENTUM = { minimum: 0, meaning: 'how much of the velocity remains' } as const
const RATE_IN_VELOCITY = {
  default: false,
  meaning:
    'false: the rate multiplies the velocity (PyTorch, TensorFlow’s `ApplyMomentum`); true: it multiplies the increment of the velocity (Keras), which differs when the rate changes',
} as const
const ROOT_EPSILON = { minimum: 0, meaning: 'keeps the division finite' } as const
const EPSILON_IN_ROOT = {
  default: false,
  meaning: 'false: root(x) = √x + ε (PyTorch); true: √(x + ε) (Keras, TensorFlow’s RMSProp)',
} as const

/**
 * The optimizer rules: elementwise updates of a variable in place, each a `rule` of `DenseOps.update`. The types of its
 * arguments, their checks on every executor, the optimizers of `@cudnn-rnn/train` and docs/optimizer_rules.md follow from
 * this table.
 */
export const OPTIMIZER_RULES = {
  sgd: {
    title: 'SGD',
    slots: [],
    source: GRADIENT,
    equations: ['variable ← variable − learningRate·gradient'],
    options: { learningRate: LEARNING_RATE },
  },
  momentum: {
    title: 'momentum',
    slots: ['velocity'],
    source: GRADIENT,
    equations: [
      'velocity ← momentum·velocity + gradient',
      'variable ← variable − learningRate·velocity',
      'nesterov: variable ← variable − learningRate·(gradient + momentum·velocity)',
    ],
    options: {
      learningRate: LEARNING_RATE,
      momentum: MOMENTUM,
      nesterov: { default: false, meaning: 'Nesterov’s look-ahead' },
      rateInVelocity: RATE_IN_VELOCITY,
    },
  },
  adam: {
    title: 'Adam',
    slots: ['firstMoment', 'secondMoment'],
    source: GRADIENT,
    equations: [
      'firstMoment ← β₁·firstMoment + (1 − β₁)·gradient',
      'secondMoment ← β₂·secondMoment + (1 − β₂)·gradient²',
      'variable ← variable − learningRate·(firstMoment/(1 − β₁ᵗ)) / (√(secondMoment/(1 − β₂ᵗ)) + ε)',
    ],
    options: {
      learningRate: LEARNING_RATE,
      beta1: { default: 0.9, minimum: 0, below: 1, meaning: 'β₁' },
      beta2: { default: 0.999, minimum: 0, below: 1, meaning: 'β₂' },
      epsilon: {
        default: 1e-8,
        minimum: 0,
        meaning:
          'ε, added to the root of the bias-corrected second moment (algorithm 1 of the paper, arXiv 1412.6980; PyTorch)',
      },
      step: {
        isCount: true,
        minimum: 1,
        meaning:
          't, 1 for the first update. On executors with `Backend.steps` also a scalar tensor that counts updates and is read when this one runs: a count that `whereFinite` guards leaves skipped updates out. float32 counts to 2²⁴',
      },
      epsilonHat: {
        default: false,
        meaning:
          'true: ε is the paper’s ε̂, added to √secondMoment before the bias correction (TensorFlow, Keras), which is ε/√(1 − β₂ᵗ) after it',
      },
    },
  },
  rmsProp: {
    title: 'RMSProp',
    slots: ['meanSquare', 'velocity'],
    source: GRADIENT,
    equations: [
      'meanSquare ← decay·meanSquare + (1 − decay)·gradient²',
      'velocity ← momentum·velocity + gradient/root(meanSquare)',
      'variable ← variable − learningRate·velocity',
    ],
    options: {
      learningRate: LEARNING_RATE,
      decay: {
        default: 0.9,
        minimum: 0,
        below: 1,
        meaning: 'how much of the mean square remains (PyTorch’s alpha, TensorFlow’s rho)',
      },
      momentum: { ...MOMENTUM, default: 0 },
      epsilon: ROOT_EPSILON,
      epsilonInRoot: EPSILON_IN_ROOT,
      rateInVelocity: RATE_IN_VELOCITY,
    },
  },
  adagrad: {
    title: 'Adagrad',
    slots: ['sumOfSquares'],
    source: GRADIENT,
    equations: [
      'sumOfSquares ← sumOfSquares + gradient²',
      'variable ← variable − learningRate·gradient/root(sumOfSquares)',
    ],
    options: { learningRate: LEARNING_RATE, epsilon: ROOT_EPSILON, epsilonInRoot: EPSILON_IN_ROOT },
  },
  weightDecay: {
    title: 'weight decay',
    slots: [],
    source: { name: 'mask', isNullable: true },
    equations: ['variable ← variable − rate·mask·variable (decoupled weight decay; null: the mask is 1 everywhere)'],
    options: { rate: { minimum: 0, meaning: 'learning rate times coefficient of the decay' } },
  },
} as const satisfies Readonly<Record<string, RuleRow>>

/** The name of an optimizer rule. */
export type OptimizerRule = keyof typeof OPTIMIZER_RULES

type OptionsOf<Rule extends OptimizerRule> = (typeof OPTIMIZER_RULES)[Rule]['options']
type ValueOf<Option> = Option extends CountOption
  ? number | BackendTensor
  : Option extends NumberOption
    ? number
    : boolean
type OptionalName<Options> = {
  [Name in keyof Options]: Options[Name] extends { readonly default: unknown } ? Name : never
}[keyof Options]

/** Options of a rule; those with a default may be left out. Values: docs/optimizer_rules.md. */
export type OptimizerOptions<Rule extends OptimizerRule = OptimizerRule> = {
  readonly [Name in Exclude<keyof OptionsOf<Rule>, OptionalName<OptionsOf<Rule>>>]: ValueOf<OptionsOf<Rule>[Name]>
} & { readonly [Name in OptionalName<OptionsOf<Rule>>]?: ValueOf<OptionsOf<Rule>[Name]> | undefined }

type TensorsOf<Names extends readonly string[]> = { readonly [Index in keyof Names]: BackendTensor }

/** The slots of a rule, in the order of the table. */
export type OptimizerSlots<Rule extends OptimizerRule = OptimizerRule> = TensorsOf<
  (typeof OPTIMIZER_RULES)[Rule]['slots']
>

/** The tensor that a rule reads: a gradient; of weight decay a mask, or null. */
export type OptimizerSource<Rule extends OptimizerRule = OptimizerRule> =
  (typeof OPTIMIZER_RULES)[Rule]['source'] extends { readonly isNullable: true } ? TensorLike | null : TensorLike
