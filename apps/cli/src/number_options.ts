import { numberOfText } from '@cudnn-rnn/canonical/rules'
import { InvalidArgumentError } from 'commander'

/** A parser of numbers that keep to a rule; commander turns the error into a usage message. */
function parser(rule: string, keeps: (value: number) => boolean): (text: string) => number {
  return (text) => {
    const value = numberOfText(text)
    if (keeps(value)) return value
    throw new InvalidArgumentError(`It must be ${rule}.`)
  }
}

export const integerAtLeast = (minimum: number) =>
  parser(`an integer >= ${minimum}`, (value) => Number.isSafeInteger(value) && value >= minimum)

/** Finite numbers only, here and below. */
export const numberAtLeast = (minimum: number) => parser(`a number >= ${minimum}`, (value) => value >= minimum)

export const numberUpTo = (maximum: number) =>
  parser(`a number in 0..${maximum}`, (value) => value >= 0 && value <= maximum)
