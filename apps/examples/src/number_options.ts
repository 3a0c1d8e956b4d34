import { InvalidArgumentError } from 'commander'

/** Parses a finite number of at least `minimum`; commander turns the error into a usage message. */
export function numberAtLeast(minimum: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && Number.isFinite(value) && value >= minimum) return value
    throw new InvalidArgumentError(`It must be a number >= ${minimum}.`)
  }
}

/** Parses an integer of at least `minimum`, likewise. */
export function integerAtLeast(minimum: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() !== '' && Number.isSafeInteger(value) && value >= minimum) return value
    throw new InvalidArgumentError(`It must be an integer >= ${minimum}.`)
  }
}
