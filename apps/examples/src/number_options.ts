import { numberOfText } from '@cudnn-rnn/canonical/rules'
import { InvalidArgumentError } from 'commander'

/** Parses a finite number of at least `minimum`; commander turns the error into a usage message. */
export function numberAtLeast(minimum: number): (text: string) => number {
  return (text) => {
    const value = numberOfText(text)
    if (value >= minimum) return value
    throw new InvalidArgumentError(`It must be a number >= ${minimum}.`)
  }
}

/** Parses an integer in `minimum`..`maximum`, likewise. */
export function integerAtLeast(minimum: number, maximum = Number.MAX_SAFE_INTEGER): (text: string) => number {
  const words = maximum === Number.MAX_SAFE_INTEGER ? `>= ${minimum}` : `in ${minimum}..${maximum}`
  return (text) => {
    const value = numberOfText(text)
    if (Number.isSafeInteger(value) && value >= minimum && value <= maximum) return value
    throw new InvalidArgumentError(`It must be an integer ${words}.`)
  }
}
