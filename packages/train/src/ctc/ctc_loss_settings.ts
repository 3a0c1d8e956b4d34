import {
  checkedElsewhere,
  checkOptionValues,
  FLAG,
  keyOf,
  type OptionsOf,
  oneOf,
  optional,
  checkNames,
} from '@cudnn-rnn/canonical/rules'
import { type Blank, checkedBlank } from './blank.js'
import { CONVENTIONS, type CtcConvention, REDUCTIONS, type Reduction } from './ctc_convention.js'

export const CTC_LOSS_SETTINGS = {
  /** Whose defaults apply; default `tensorflow`. */
  convention: optional<CtcConvention>(keyOf(CONVENTIONS)),
  // Checked with the logits, which have the number of classes.
  /** Default `last` (`tensorflow`) or `first` (`pytorch`). */
  blank: checkedElsewhere<Blank | undefined>(),
  /** TensorFlow's `preprocess_collapse_repeated`: equal neighbors among the labels are one label. Default false. */
  preprocessCollapseRepeated: optional(FLAG),
  /** TensorFlow's `ctc_merge_repeated`. False: every frame that is not blank is a separate label. Default true. */
  ctcMergeRepeated: optional(FLAG),
  /** TensorFlow's `ignore_longer_outputs_than_inputs`: rows with more labels than time steps get loss and gradient 0. Default false. */
  ignoreLongerOutputsThanInputs: optional(FLAG),
  /** PyTorch's `zero_infinity`: rows whose labels no path spells get loss and gradient 0. Default false. */
  zeroInfinity: optional(FLAG),
  /** Default `mean` (`tensorflow`) or `mean_per_label` (`pytorch`). */
  reduction: optional<Reduction>(oneOf(REDUCTIONS)),
}

/** The options of the CTC loss that do not depend on the batch. */
export interface CtcLossSettings extends OptionsOf<typeof CTC_LOSS_SETTINGS> {}

/**
 * Checks everything but the number of the blank, which depends on the logits.
 *
 * @param others names of further fields that `settings` may have.
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { hasErrorCode } from '@cudnn-rnn/rnn'
 * import { checkCtcLossSettings } from '@cudnn-rnn/rnn/ctc'
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
  checkNames(action, settings, [...others, ...Object.keys(CTC_LOSS_SETTINGS)])
  checkOptionValues(action, settings, CTC_LOSS_SETTINGS)
}

/**
 * The class of the blank among `classes`, by the settings or their convention.
 *
 * @throws RangeError `ERR_CTC_BLANK`
 * @example
 * ```ts
 * import { ctcBlank } from '@cudnn-rnn/rnn/ctc'
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
