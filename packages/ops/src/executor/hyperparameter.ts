import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError } from './coded_error.js'

/** Throws RangeError `ERR_HYPERPARAMETER` unless `value` is finite and within the bounds. */
export function checkHyperparameter(
  action: string,
  name: string,
  value: number,
  { minimum = Number.NEGATIVE_INFINITY, below = Number.POSITIVE_INFINITY } = {},
): void {
  if (Number.isFinite(value) && value >= minimum && value < below) return
  const bounds = [
    minimum > Number.NEGATIVE_INFINITY && `>= ${minimum}`,
    below < Number.POSITIVE_INFINITY && `< ${below}`,
  ]
  const rule = ['a finite number', ...bounds.filter((bound) => bound !== false)].join(' ')
  throw codedRangeError(
    'ERR_HYPERPARAMETER',
    `Cannot ${action} as ${name} must be ${rule}: current value is ${describeValue(value)}`,
    { option: name, value },
  )
}
