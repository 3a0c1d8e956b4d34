import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { codedRangeError } from './coded_error.js'
import { integerAtLeast } from './number_options.js'
import { flagOf } from './use_options.js'

/** An option that a run records, and its place in the settings of the run. */
export interface SettingOption {
  /** Member of the settings: `sizes.numUnits`. */
  readonly place: string
  readonly option: Option
  /** At a resume: another value is refused as it affects the results, replaces the run's, or a path of data all such paths. */
  readonly onResume: 'refused' | 'changed' | 'moved'
}

/** The text of `--delimiter`. */
export const DELIMITER = 'separator of columns (default: , or ; or tab or |, as in the header)'

type Parse = number | ((text: string) => unknown) | readonly string[]

/** @param parse reads the text of the value, is the least integer, or lists the choices; default text */
export function setting(place: string, flags: string, text: string, parse?: Parse, initial?: unknown): SettingOption {
  const option = new Option(flags, text).default(initial)
  if (typeof parse === 'number') option.argParser(integerAtLeast(parse))
  else if (typeof parse === 'function') option.argParser(parse)
  else if (parse !== undefined) option.choices(parse)
  return { place, option, onResume: 'refused' }
}

/** A setting that may change when the run is resumed. Parameters as above. */
export function changeable(...parameters: Parameters<typeof setting>): SettingOption {
  return { ...setting(...parameters), onResume: 'changed' }
}

/** The path of data, which may have moved when the run is resumed: that they are the same is checked when they have been read. */
export function dataPath(...parameters: Parameters<typeof setting>): SettingOption {
  return { ...setting(...parameters), onResume: 'moved' }
}

/** The settings of every command that trains, at these places. */
export function trainingSettings(saveEvery: string, seed: string): SettingOption[] {
  return [
    changeable(saveEvery, '--save-every <n>', 'save every so many updates, too', 1),
    setting(seed, '--seed <n>', 'seed of random numbers: equal seeds give equal runs', 0, 1),
  ]
}

export function addSettings(command: Command, settings: readonly SettingOption[]): Command {
  for (const { option } of settings) command.addOption(option)
  return command
}

/**
 * The settings that the options of a command line mean; those without a value are left out, and paths are absolute, as a
 * resumed run may start in another folder.
 */
export function settingsOf<Settings>(settings: readonly SettingOption[], options: object): Settings {
  const result = {}
  for (const { place, option, onResume } of settings) {
    const value = (options as Readonly<Record<string, unknown>>)[option.attributeName()]
    put(result, place, onResume === 'moved' && typeof value === 'string' ? resolve(value) : value)
  }
  return result as Settings
}

/**
 * The settings of a resumed run: the run's own, changed by the given options that may change.
 *
 * @param given names of the options that are given on the command line; the others keep the values of the run
 * @throws RangeError `ERR_RESUME_OPTION` for another value of a setting that affects the results
 */
export function resumedSettings<Saved>(
  directory: string,
  settings: readonly SettingOption[],
  given: ReadonlySet<string>,
  asked: object,
  saved: Saved,
): Saved {
  const result = structuredClone(saved)
  const hasMoved = settings.some(({ option, onResume }) => onResume === 'moved' && given.has(option.attributeName()))
  for (const { place, option, onResume } of settings) {
    const name = option.attributeName()
    if (onResume === 'moved' ? !hasMoved : !given.has(name)) continue
    const [value, earlier] = [valueAt(asked, place), valueAt(saved, place)]
    if (onResume !== 'refused') put(result as object, place, value)
    else if (String(value) !== String(earlier)) {
      const flag = flagOf(name)
      throw codedRangeError(
        'ERR_RESUME_OPTION',
        `Cannot resume ${directory} with ${flag} ${value} as the run was begun with ${flag} ${earlier ?? '(none)'}: leave the option out, or begin a new run with --overwrite or in another --out`,
        { option: flag, value, saved: earlier },
      )
    }
  }
  return result
}

function valueAt(settings: unknown, place: string): unknown {
  return place.split('.').reduce((part, name) => (part as Record<string, unknown> | undefined)?.[name], settings)
}

function put(settings: object, place: string, value: unknown): void {
  const names = place.split('.')
  const last = names.pop() as string
  let part = settings as Record<string, unknown>
  for (const name of names) {
    part[name] ??= {}
    part = part[name] as Record<string, unknown>
  }
  if (value === undefined) Reflect.deleteProperty(part, last)
  else part[last] = value
}

/** The options that are given on the command line; the others have their defaults. */
export function givenOptions(command: Command): ReadonlySet<string> {
  const names = command.options.map((option) => option.attributeName())
  return new Set(names.filter((name) => command.getOptionValueSource(name) === 'cli'))
}
