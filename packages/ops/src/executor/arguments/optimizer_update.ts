import { describeValue } from '@cudnn-rnn/canonical'
import {
  ANYTHING,
  checkArguments,
  checkOptionNames,
  codedTypeError,
  keyOf,
  listOf,
  required,
  where,
} from '@cudnn-rnn/canonical/rules'
import { type BackendTensor, OPTIMIZER_RULES, type OptimizerRule } from '@cudnn-rnn/ops'
import { checkHyperparameter } from './hyperparameter.js'

type Row<Rule extends OptimizerRule> = (typeof OPTIMIZER_RULES)[Rule]

/** The values of all options of a rule, defaults in place. A count of the device is NaN here. */
export type RuleValues<Rule extends OptimizerRule> = {
  readonly [Name in keyof Row<Rule>['options']]: Row<Rule>['options'][Name] extends { readonly minimum: number }
    ? number
    : boolean
}

/**
 * An update of variables in place, elementwise, with its numbers: `accumulate` and every rule of `DenseOps.update` is one.
 * `addScaled` is variable ← variable + scale·source; SGD is that with a scale of −learningRate.
 */
export type OptimizerUpdate =
  | { readonly rule: 'addScaled'; readonly scale: number }
  | {
      [Rule in Exclude<OptimizerRule, 'sgd'>]: { readonly rule: Rule } & RuleValues<Rule> & {
          /** The scalar tensor that counts the updates if the step is NaN. */
          readonly count?: BackendTensor | undefined
        }
    }[Exclude<OptimizerRule, 'sgd'>]

interface NamedOption {
  readonly name: string
  readonly minimum?: number
  readonly below?: number
  readonly default?: number | boolean
  readonly isCount?: true
}

/** The arguments of an update by one row of {@link OPTIMIZER_RULES}. */
export interface RuleArguments {
  readonly rule: OptimizerRule
  readonly action: string
  readonly slotCount: number
  readonly isSourceNullable: boolean
  /** variable, slots, source */
  readonly operandNames: readonly string[]
  readonly options: readonly NamedOption[]
  readonly optionNames: readonly string[]
}

// Made once: a step of training looks a rule up for each variable.
const RULES: ReadonlyMap<unknown, RuleArguments> = new Map(
  Object.entries(OPTIMIZER_RULES).map(([rule, { title, slots, source, options }]) => [
    rule,
    {
      rule: rule as OptimizerRule,
      action: `apply ${title}`,
      slotCount: slots.length,
      isSourceNullable: 'isNullable' in source,
      operandNames: ['variable', ...slots, source.name],
      options: Object.entries(options).map(([name, option]) => ({ name, ...option })),
      optionNames: Object.keys(options),
    },
  ]),
)

const RULE_NAME = { rule: keyOf(OPTIMIZER_RULES) }

/**
 * The arguments of the rule of this name, which has as many slots as these.
 *
 * @throws RangeError `ERR_INVALID_OPTION`; TypeError `ERR_INVALID_ARGUMENT`
 */
export function checkRuleArguments(rule: unknown, slots: unknown): RuleArguments {
  const named = RULES.get(rule)
  if (named === undefined) checkArguments('update a variable', { rule }, RULE_NAME)
  const row = required(named, 'every name of a rule has a row')
  if (!Array.isArray(slots) || slots.length !== row.slotCount) {
    const isAllowed = (given: readonly unknown[]) => given.length === row.slotCount
    const SLOTS = where(listOf(ANYTHING), `an array of ${row.slotCount} tensors`, isAllowed)
    checkArguments(row.action, { slots }, { slots: SLOTS })
  }
  return row
}

/**
 * An update whose options were checked by the table, with defaults in place.
 *
 * @param count the tensor that was given as a count, if the executor reads it
 * @throws RangeError `ERR_HYPERPARAMETER`; TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`
 */
export function completeUpdate(
  { rule, action, options: rows, optionNames }: RuleArguments,
  options: Readonly<Record<string, unknown>>,
  count: BackendTensor | undefined,
): OptimizerUpdate {
  checkOptionNames(action, options, optionNames)
  const values: Record<string, unknown> = { rule }
  for (const row of rows) {
    const given = options[row.name]
    const value = given === undefined ? row.default : given
    if (row.isCount && count !== undefined) values[row.name] = Number.NaN
    else {
      checkRuleValue(action, row, value)
      values[row.name] = value
    }
  }
  if (rule === 'sgd') return { rule: 'addScaled', scale: -(values['learningRate'] as number) }
  if (count !== undefined) values['count'] = count
  else if (rule === 'adam' && values['epsilonHat'] === true) {
    // With t known, ε̂ is this ε of the algorithm: kernels on the host have one form.
    const { epsilon, beta2, step } = values as unknown as RuleValues<'adam'>
    values['epsilon'] = epsilon / Math.sqrt(1 - beta2 ** step)
    values['epsilonHat'] = false
  }
  return values as unknown as OptimizerUpdate
}

/**
 * Throws unless the row of an option allows `value`.
 *
 * @throws RangeError `ERR_HYPERPARAMETER`; TypeError `ERR_INVALID_OPTION_TYPE`
 */
export function checkRuleValue(action: string, { name, minimum, below }: NamedOption, value: unknown): void {
  if (minimum !== undefined) {
    checkHyperparameter(action, name, value as number, below === undefined ? { minimum } : { minimum, below })
  } else if (typeof value !== 'boolean') {
    throw codedTypeError(
      'ERR_INVALID_OPTION_TYPE',
      `Cannot ${action} as ${name} must be a boolean: current value is ${describeValue(value)}`,
      { option: name, value },
    )
  }
}
