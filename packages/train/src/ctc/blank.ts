import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'

/** The class of the blank: its number, or `first` (0, PyTorch and cuDNN) or `last` (K-1, TensorFlow 1). */
export type Blank = number | 'first' | 'last'

/** The number of the blank among `classes`. The caller checks that a number is a class. */
export function blankClass(blank: Blank, classes: number): number {
  if (blank === 'first') return 0
  return blank === 'last' ? classes - 1 : blank
}

/** The number of the blank. Throws RangeError `ERR_CTC_BLANK` unless it is one of the classes. */
export function checkedBlank(action: string, blank: Blank, classes: number): number {
  const number = blankClass(blank, classes)
  if (Number.isInteger(number) && number >= 0 && number < classes) return number
  throw codedRangeError(
    'ERR_CTC_BLANK',
    `Cannot ${action} as the blank must be 'first', 'last' or an integer in 0..${classes - 1}: current value is ${describeValue(blank)}`,
    { value: blank, classes },
  )
}
