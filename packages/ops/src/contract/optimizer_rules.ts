import type { BackendTensor, TensorLike } from './backend_tensor.js'

/** A number among the options of a rule. */
interface NumberOption {
  readonly minimum: number
  /** The value must be less. */
  readonly below?: number
  readonly default?: number
}

/** A switch among the options of a rule. */
interface FlagOption {
  readonly default: boolean
}

/** A number of updates, which an executor with `Backend.steps` also takes as a scalar tensor. */
interface CountOption extends NumberOption {
  readonly isCount: true
}

/** One rule: its operands and its options, in the order in which kernels take them. */
interface RuleRow {
  /** The name in messages and docs/optimizer_rules.md. */
  readonly title: string
  /** Tensors that are kept from update to update, of the variable's shape and layout; zero before the first unless stated. */
  readonly slots: readonly string[]
  /** The tensor that is only read. */
  readonly source: { readonly name: string; readonly isNullable?: true }
  readonly options: Readonly<Record<string, NumberOption | FlagOption | CountOption>>
}

const NOT_NEGATIVE = { minimum: 0 } as const
const OFF = { default: false } as const
const GRADIENT = { name: 'gradient' } as const

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
    options: { learningRate: NOT_NEGATIVE },
  },
  momentum: {
    title: 'momentum',
    slots: ['velocity'],
    source: GRADIENT,
    options: { learningRate: NOT_NEGATIVE, momentum: NOT_NEGATIVE, nesterov: OFF, rateInVelocity: OFF },
  },
  adam: {
    title: 'Adam',
    slots: ['firstMoment', 'secondMoment'],
    source: GRADIENT,
    options: {
      learningRate: NOT_NEGATIVE,
      beta1: { default: 0.9, minimum: 0, below: 1 },
      beta2: { default: 0.999, minimum: 0, below: 1 },
      epsilon: { default: 1e-8, minimum: 0 },
      step: { isCount: true, minimum: 1 },
      epsilonHat: OFF,
    },
  },
  rmsProp: {
    title: 'RMSProp',
    slots: ['meanSquare', 'velocity'],
    source: GRADIENT,
    options: {
      learningRate: NOT_NEGATIVE,
      decay: { default: 0.9, minimum: 0, below: 1 },
      momentum: { default: 0, minimum: 0 },
      epsilon: NOT_NEGATIVE,
      epsilonInRoot: OFF,
      rateInVelocity: OFF,
    },
  },
  adagrad: {
    title: 'Adagrad',
    slots: ['sumOfSquares'],
    source: GRADIENT,
    options: { learningRate: NOT_NEGATIVE, epsilon: NOT_NEGATIVE, epsilonInRoot: OFF },
  },
  weightDecay: {
    title: 'weight decay',
    slots: [],
    source: { name: 'mask', isNullable: true },
    options: { rate: NOT_NEGATIVE },
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

/** The tensor that a rule reads: a gradient, or for weight decay a mask or null. */
export type OptimizerSource<Rule extends OptimizerRule = OptimizerRule> =
  (typeof OPTIMIZER_RULES)[Rule]['source'] extends { readonly isNullable: true } ? TensorLike | null : TensorLike
