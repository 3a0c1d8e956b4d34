import type { Command } from 'commander'
import { codedRangeError } from './coded_error.js'
import { flagOf } from './use_options.js'

/** An option that affects the results of a run: it cannot change when the run is resumed. */
export interface FixedOption<Settings> {
  /** As commander names it: `learningRate`. */
  readonly name: string
  readonly value: (settings: Settings) => unknown
}

/** The options that are given on the command line; the others have their defaults. */
export function givenOptions(command: Command): ReadonlySet<string> {
  const names = command.options.map((option) => option.attributeName())
  return new Set(names.filter((name) => command.getOptionValueSource(name) === 'cli'))
}

/**
 * Throws RangeError `ERR_RESUME_OPTION` if a given option has another value in the run to be resumed. Options that are
 * not given keep the values of the run.
 */
export function checkFixedOptions<Settings>(
  directory: string,
  options: readonly FixedOption<Settings>[],
  given: ReadonlySet<string>,
  asked: Settings,
  saved: Settings,
): void {
  for (const { name, value } of options) {
    if (!given.has(name) || value(asked) === value(saved)) continue
    const flag = flagOf(name)
    throw codedRangeError(
      'ERR_RESUME_OPTION',
      `Cannot resume ${directory} with ${flag} ${value(asked)} as the run was begun with ${flag} ${value(saved) ?? '(none)'}: leave the option out, or begin a new run with --overwrite or in another --out`,
      { option: flag, value: value(asked), saved: value(saved) },
    )
  }
}

/** The options that may change when a run is resumed, where the command line gives them: they replace those of the run. */
export function changedOptions<Settings, Name extends keyof Settings & string>(
  given: ReadonlySet<string>,
  asked: Settings,
  names: readonly Name[],
): Partial<Pick<Settings, Name>> {
  const changed: Partial<Pick<Settings, Name>> = {}
  for (const name of names) if (given.has(name)) changed[name] = asked[name]
  return changed
}
