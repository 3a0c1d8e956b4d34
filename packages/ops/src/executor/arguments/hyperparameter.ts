import { checkOptionValues, type Rule } from '@cudnn-rnn/canonical/rules'

export interface Bounds {
  readonly minimum?: number
  readonly below?: number
  readonly isInteger?: boolean
}

/** The rule of a finite number within bounds; its errors are RangeErrors `ERR_HYPERPARAMETER`. */
export function hyperparameter(bounds: Bounds = {}): Rule<number> {
  const { minimum, below, isInteger } = bounds
  const limits = [minimum !== undefined && `>= ${minimum}`, below !== undefined && `< ${below}`]
  const words = [isInteger ? 'an integer' : 'a finite number', ...limits.filter((limit) => limit !== false)].join(' ')
  return {
    words,
    find(value, path) {
      if (isWithin(value as number, bounds)) return undefined
      return { path, words, value, isOtherKind: false, code: 'ERR_HYPERPARAMETER' }
    },
  }
}

/** Throws RangeError `ERR_HYPERPARAMETER` unless `value` is finite and within the bounds. */
export function checkHyperparameter(action: string, name: string, value: number, bounds: Bounds = {}): void {
  if (!isWithin(value, bounds)) checkOptionValues(action, { [name]: value }, { [name]: hyperparameter(bounds) })
}

function isWithin(value: number, { minimum = -Infinity, below = Infinity, isInteger = false }: Bounds): boolean {
  return Number.isFinite(value) && value >= minimum && value < below && (!isInteger || Number.isInteger(value))
}
