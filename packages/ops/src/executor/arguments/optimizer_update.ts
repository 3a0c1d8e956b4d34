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
import { OPTIMIZER_RULES, type OptimizerRule } from '@cudnn-rnn/ops'
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
      [Rule in Exclude<OptimizerRule, 'sgd'>]: { readonly rule: Rule } & RuleValues<Rule>
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
  /** The values of the options of the last update, which were checked, and that update. */
  last?: { readonly given: readonly unknown[]; readonly update: OptimizerUpdate }
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

const COUNTED = Symbol('counted')

/**
 * An update whose options were checked by the table, with defaults in place. A step of training makes one for each variable
 * with the same options, which are checked once.
 *
 * @param isCounted whether the executor reads its step from a tensor, which was given as the option
 * @throws RangeError `ERR_HYPERPARAMETER`; TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`
 */
export function completeUpdate(
  row: RuleArguments,
  options: Readonly<Record<string, unknown>>,
  isCounted: boolean,
): OptimizerUpdate {
  checkOptionNames(row.action, options, row.optionNames)
  const given: unknown[] = []
  for (const { name, isCount } of row.options) given.push(isCount && isCounted ? COUNTED : options[name])
  const { last } = row
  if (last?.given.every((value, k) => Object.is(value, given[k]))) return last.update
  const update = checkedUpdate(row, given)
  row.last = { given, update }
  return update
}

function checkedUpdate({ rule, action, options }: RuleArguments, given: readonly unknown[]): OptimizerUpdate {
  const values: Record<string, unknown> = { rule }
  for (const [k, row] of options.entries()) {
    const value = given[k] === undefined ? row.default : given[k]
    if (value !== COUNTED) checkRuleValue(action, row, value)
    values[row.name] = value === COUNTED ? Number.NaN : value
  }
  if (rule === 'sgd') return { rule: 'addScaled', scale: -(values['learningRate'] as number) }
  if (rule === 'adam' && values['epsilonHat'] === true && !given.includes(COUNTED)) {
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
