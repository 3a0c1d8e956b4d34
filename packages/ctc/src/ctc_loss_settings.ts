import { checkNames, describeValue } from '@cudnn-rnn/canonical'
import { type Blank, checkedBlank } from './blank.js'
import { codedRangeError, codedTypeError } from './coded_error.js'
import { CONVENTIONS, type CtcConvention, REDUCTIONS, type Reduction } from './ctc_convention.js'

/** The options of the CTC loss that do not depend on the batch. */
export interface CtcLossSettings {
  /** Whose defaults apply; default `tensorflow`. */
  readonly convention?: CtcConvention | undefined
  /** Default `last` (`tensorflow`) or `first` (`pytorch`). */
  readonly blank?: Blank | undefined
  /** TensorFlow's `preprocess_collapse_repeated`: equal neighbors among the labels are one label. Default false. */
  readonly preprocessCollapseRepeated?: boolean | undefined
  /** TensorFlow's `ctc_merge_repeated`. False: every frame that is not blank is a separate label. Default true. */
  readonly ctcMergeRepeated?: boolean | undefined
  /** TensorFlow's `ignore_longer_outputs_than_inputs`: rows with more labels than time steps get loss and gradient 0. Default false. */
  readonly ignoreLongerOutputsThanInputs?: boolean | undefined
  /** PyTorch's `zero_infinity`: rows whose labels no path spells get loss and gradient 0. Default false. */
  readonly zeroInfinity?: boolean | undefined
  /** Default `mean` (`tensorflow`) or `mean_per_label` (`pytorch`). */
  readonly reduction?: Reduction | undefined
}

const FLAGS = [
  'preprocessCollapseRepeated',
  'ctcMergeRepeated',
  'ignoreLongerOutputsThanInputs',
  'zeroInfinity',
] as const satisfies readonly (keyof CtcLossSettings)[]

/**
 * Checks everything but the number of the blank, which depends on the logits.
 *
 * @param others names of further fields that `settings` may have.
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { hasErrorCode } from '@cudnn-rnn/canonical'
 * import { checkCtcLossSettings } from '@cudnn-rnn/ctc'
 *
 * checkCtcLossSettings('train', { convention: 'pytorch', zeroInfinity: true })
 * try {
 *   checkCtcLossSettings('train', JSON.parse('{ "blanc": 0 }'))
 * } catch (error) {
 *   console.log(hasErrorCode(error, 'ERR_UNKNOWN_OPTION')) // true
 * }
 * ```
 */
export function checkCtcLossSettings(action: string, settings: CtcLossSettings, others: readonly string[] = []): void {
  checkNames(action, settings, [...others, 'convention', 'blank', 'reduction', ...FLAGS])
  for (const flag of FLAGS) checkFlag(action, flag, settings[flag])
  checkChoice(action, 'convention', settings.convention, Object.keys(CONVENTIONS))
  checkChoice(action, 'reduction', settings.reduction, REDUCTIONS)
}

/**
 * The class of the blank among `classes`: that of the settings, or of their convention.
 *
 * @throws RangeError `ERR_CTC_BLANK`
 * @example
 * ```ts
 * import { ctcBlank } from '@cudnn-rnn/ctc'
 *
 * console.log(ctcBlank('train', {}, 29), ctcBlank('train', { convention: 'pytorch' }, 29)) // 28 0
 * ```
 */
export function ctcBlank(
  action: string,
  { blank, convention = 'tensorflow' }: Pick<CtcLossSettings, 'blank' | 'convention'>,
  classes: number,
): number {
  return checkedBlank(action, blank ?? CONVENTIONS[convention].blank, classes)
}

function checkChoice(action: string, option: string, value: unknown, choices: readonly string[]): void {
  if (value === undefined || choices.some((choice) => choice === value)) return
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot ${action} as ${option} must be one of ${choices.join(', ')}: current value is ${describeValue(value)}`,
    { option, value },
  )
}

function checkFlag(action: string, option: (typeof FLAGS)[number], value: unknown): void {
  if (value === undefined || typeof value === 'boolean') return
  throw codedTypeError(
    'ERR_INVALID_OPTION_TYPE',
    `Cannot ${action} as ${option} must be a boolean: current value is ${describeValue(value)}`,
    { option, value },
  )
}
