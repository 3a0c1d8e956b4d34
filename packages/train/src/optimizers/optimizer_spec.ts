import {
  type AnyRule,
  checkedElsewhere,
  checkOptions,
  checkOptionValues,
  fields,
  FUNCTION,
  kind,
  listOf,
  oneOf,
  optional,
  type OptionsOf,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import { isBackendTensor, OPTIMIZER_RULES, type OptimizerRule, type TensorLike } from '@cudnn-rnn/ops'
import { BACKEND, checkRuleValue } from '@cudnn-rnn/ops/executor'
import type { Trainable } from './trainable.js'

const PER_VARIABLE_OPTIONS = {
  /**
   * Decoupled weight decay (AdamW's): before each update, variable ← variable − learningRate·weightDecay·variable. A function
   * returns each variable's, by its name for example. Default 0.
   */
  // Its errors have the code ERR_HYPERPARAMETER.
  weightDecay: checkedElsewhere<number | ((variable: Trainable) => number) | undefined>(),
  /**
   * Which elements of a variable decay: null all (default), or a tensor of 0 and 1 in its shape, such as `weightDecayMask` makes
   * for opaque buffers. The optimizer does not dispose it.
   */
  decayMask: optional<(variable: Trainable) => TensorLike | null>(FUNCTION),
  /** The learning rate of each variable, as a multiple of the one that `apply` and `fit` have; 0 freezes it. Default 1. */
  rateFactor: optional<(variable: Trainable) => number>(FUNCTION),
}

/** Options of every optimizer by which variables may differ: PyTorch's parameter groups. */
export interface PerVariableOptions extends OptionsOf<typeof PER_VARIABLE_OPTIONS> {}

/** Frameworks whose formulas differ in the place of ε and in whether the rate enters a velocity. */
const DEFINITIONS = ['pytorch', 'tensorflow'] as const
/** Whose formula an optimizer follows. */
export type Definition = (typeof DEFINITIONS)[number]

export const COMMON_OPTIONS = {
  ...PER_VARIABLE_OPTIONS,
  /** Whose formula: 'pytorch' (default) or 'tensorflow' (Keras). */
  definition: optional(oneOf(DEFINITIONS)),
}

/** Options of every optimizer. */
export interface CommonOptions extends PerVariableOptions, OptionsOf<typeof COMMON_OPTIONS> {}

/** The rule of an option that the table of optimizer rules checks. */
export const RULE_NUMBER = checkedElsewhere<number | undefined>()
export const RULE_FLAG = checkedElsewhere<boolean | undefined>()

export type Settings = Readonly<Record<string, number | boolean>>

/** An optimizer in terms of a rule of the executors. */
export interface OptimizerSpec {
  readonly rule: OptimizerRule
  /** TensorFlow's names of the rule's slots, which checkpoints use. */
  readonly slots: readonly string[]
  /** Options of the constructor: every optimizer's, the rule's, and `initialAccumulator`. */
  readonly options: Readonly<Record<string, AnyRule>>
  /** Defaults of the options that not every optimizer has. */
  readonly defaults: Readonly<Record<Definition, Settings>>
  /** Options of the rule that the definition alone sets. */
  readonly fixed: Readonly<Record<Definition, Settings>>
}

/** The options of a constructor that the rule does not have: where slots start. */
const INITIAL_VALUE = { minimum: 0 }

/**
 * Checks the arguments of an optimizer's constructor by the table of rules.
 *
 * @returns the options of the rule but the learning rate and the step, and `initialAccumulator` if the spec has it
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`, `ERR_INVALID_ARGUMENT`; RangeError
 *   `ERR_HYPERPARAMETER`, `ERR_INVALID_OPTION`
 */
export function checkSettings<Spec extends OptimizerSpec>(
  { rule, options: rules, defaults, fixed }: Spec,
  variables: readonly Trainable[],
  options: CommonOptions,
): Spec['defaults'][Definition] & Spec['fixed'][Definition] {
  const { title, options: rows } = OPTIMIZER_RULES[rule]
  const action = `build ${title}`
  checkOptionValues(action, { variables }, { variables: TRAINABLES })
  const { definition = 'pytorch', ...given } = checkOptions<object>(action, options, rules) as {
    definition?: Definition
  } & Record<string, unknown>
  const settings: Record<string, number | boolean> = { ...fixed[definition] }
  for (const [name, initial] of Object.entries(defaults[definition])) {
    const value = given[name] === undefined ? initial : given[name]
    const row = name in rows ? rows[name as keyof typeof rows] : INITIAL_VALUE
    checkRuleValue(action, { name, ...(row as object) }, value)
    settings[name] = value as number | boolean
  }
  return settings as ReturnType<typeof checkSettings<Spec>>
}

const TENSOR = kind('a tensor of the executor', isBackendTensor)

const TRAINABLE = fields({ name: TEXT, value: TENSOR, backend: optional(BACKEND) })

/** A list of variables. Each stays the caller's own object, as callbacks are given it. */
export const TRAINABLES = listOf<Trainable>({ ...TRAINABLE, find: (value, path) => TRAINABLE.find(value, path) })
