import { codedRangeError } from './coded_error.js'

/** Throws RangeError `ERR_USE_OPTION` for an option of training that is given with --run, which trains nothing. */
export function checkUseOptions(command: string, given: ReadonlySet<string>, allowed: readonly string[]): void {
  const other = [...given].find((name) => !allowed.includes(name))
  if (other === undefined) return
  const flag = flagOf(other)
  throw codedRangeError(
    'ERR_USE_OPTION',
    `Cannot ${command} with --run as ${flag} is an option of training: leave it out, or train a new run without --run`,
    { option: flag },
  )
}

/** `--weight-decay` for `weightDecay`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
