import { numberOfText } from '@cudnn-rnn/canonical/rules'
import { InvalidArgumentError } from 'commander'

/** Parses an integer of at least `minimum`; commander turns the error into a usage message. */
export function integerAtLeast(minimum: number): (text: string) => number {
  return (text) => {
    const value = numberOfText(text)
    if (Number.isSafeInteger(value) && value >= minimum) return value
    throw new InvalidArgumentError(`It must be an integer >= ${minimum}.`)
  }
}

/** Parses a finite number of at least `minimum`. */
export function numberAtLeast(minimum: number): (text: string) => number {
  return (text) => {
    const value = numberOfText(text)
    if (value >= minimum) return value
    throw new InvalidArgumentError(`It must be a number >= ${minimum}.`)
  }
}

/** Parses a number in 0..`maximum`. */
export function numberUpTo(maximum: number): (text: string) => number {
  return (text) => {
    const value = numberOfText(text)
    if (value >= 0 && value <= maximum) return value
    throw new InvalidArgumentError(`It must be a number in 0..${maximum}.`)
  }
}
