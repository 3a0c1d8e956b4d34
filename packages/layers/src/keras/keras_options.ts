import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError, type Json, jsonRecord, unreadKerasOption } from '@cudnn-rnn/canonical/rules'

const FULL_PRECISION = new Set(['float32', 'float64'])

/** The options of a layer in a Keras file. Unread options must be without effect: see {@link KerasOptions.finish}. */
export class KerasOptions {
  readonly className: string
  /** Name and class, for messages. */
  readonly label: string
  /** Release of Keras that wrote the file, if it is known. */
  readonly major: number | undefined
  readonly #config: Json
  readonly #read = new Set<string>()

  constructor(className: string, config: Json, name: unknown = config['name'], major?: number) {
    this.major = major
    this.className = className
    this.label = `${typeof name === 'string' ? name : className} (${className})`
    this.#config = config
  }

  value(option: string): unknown {
    this.#read.add(option)
    return this.#config[option]
  }

  object(option: string): Json {
    const value = jsonRecord(this.value(option))
    if (value === undefined) throw this.wrong(option, 'an object')
    return value
  }

  count(option: string): number {
    const value = this.value(option)
    if (Number.isSafeInteger(value) && (value as number) >= 1) return value as number
    throw this.wrong(option, 'an integer >= 1')
  }

  /** A size along time, which Keras writes as a list of one. */
  axis(option: string, absent = 1): number {
    const value = [this.value(option) ?? absent].flat()
    if (value.length === 1 && Number.isSafeInteger(value[0]) && (value[0] as number) >= 1) return value[0] as number
    throw this.wrong(option, 'one integer >= 1')
  }

  /** A number, which old files have as an array of one. */
  number(option: string, absent?: number): number {
    const given = this.#given(option, absent)
    const value = Array.isArray(given) && given.length === 1 ? given[0] : given
    if (typeof value === 'number' && Number.isFinite(value)) return value
    throw this.wrong(option, 'a finite number')
  }

  /** Two integers, written as one where they are equal: along time and height, or at the beginning and the end. */
  pair(option: string, absent: readonly [number, number], minimum = 1): readonly [number, number] {
    const [first, second = first, ...more] = [this.value(option) ?? absent].flat()
    const isCount = (size: unknown): size is number => Number.isSafeInteger(size) && (size as number) >= minimum
    if (isCount(first) && isCount(second) && more.length === 0) return [first, second]
    throw this.wrong(option, `one or two integers >= ${minimum}`)
  }

  sizes(option: string, minimum: number): readonly number[] {
    const value = this.value(option)
    const isSize = (size: unknown) => Number.isSafeInteger(size) && (size as number) >= minimum
    if (Array.isArray(value) && value.length > 0 && value.every(isSize)) return value as number[]
    throw this.wrong(option, 'a list of integers')
  }

  flag(option: string, absent: boolean): boolean {
    const value = this.#given(option, absent)
    if (typeof value === 'boolean') return value
    throw this.wrong(option, 'a boolean')
  }

  /** A name; null is the function `linear`. */
  choice<const Known extends string>(option: string, known: readonly Known[], absent: Known): Known {
    const value = this.#given(option, absent) ?? 'linear'
    const found = known.find((name) => name === value)
    if (found !== undefined) return found
    throw this.wrong(option, `one of ${known.join(', ')}`)
  }

  /** An option that the file leaves out has Keras' default; one that is null has another meaning, or none. */
  #given(option: string, absent: unknown): unknown {
    const value = this.value(option)
    return value === undefined ? absent : value
  }

  /** Reads options that must have one of the values that are named first. */
  only(required: Readonly<Record<string, readonly unknown[]>>): void {
    for (const [option, values] of Object.entries(required)) {
      const value = this.value(option)
      const text = JSON.stringify(value)
      if (value === null || value === undefined || values.some((each) => JSON.stringify(each) === text)) continue
      throw this.wrong(option, `${values.map((each) => JSON.stringify(each)).join(' or ')} or absent`)
    }
  }

  /** Every option is without effect. */
  ignoreAll(): void {
    this.ignore(...Object.keys(this.#config))
  }

  ignore(...options: readonly string[]): void {
    for (const option of options) this.#read.add(option)
  }

  /** Throws RangeError `ERR_UNKNOWN_LAYER` for an option that was not read: it may change the layer's results. */
  finish(): void {
    this.checkPrecision()
    const rule = unreadKerasOption(this.#config, (option) => this.#read.has(option))
    if (rule !== undefined) throw this.refused(rule)
  }

  checkPrecision(): void {
    const { dtype } = this.#config
    const policy = jsonRecord(jsonRecord(dtype)?.['config'])?.['name'] ?? dtype ?? 'float32'
    if (typeof policy !== 'string' || !FULL_PRECISION.has(policy)) throw this.wrong('dtype', 'float32 or float64')
  }

  wrong(option: string, rule: string) {
    return this.refused(`${option} must be ${rule}: current value is ${describeValue(this.#config[option])}`)
  }

  refused(rule: string, more: Readonly<Record<string, unknown>> = {}) {
    return unknownLayer(this.label, rule, more)
  }
}

/** The error for a layer that cannot be imported, with the way by hand. */
export function unknownLayer(layer: string, rule: string, more: Readonly<Record<string, unknown>> = {}) {
  return codedRangeError(
    'ERR_UNKNOWN_LAYER',
    `Cannot import layer ${layer} as ${rule}. By hand: importWeights(file) has the recurrent networks, openWeightFile(file) every tensor`,
    { layer, ...more },
  )
}

/** @param layer of a file */
export function labelOf({
  className,
  config: { name },
}: {
  readonly className: string
  readonly config: Json
}): string {
  return `${typeof name === 'string' ? name : className} (${className})`
}

export function notAModel(path: string, rule: string) {
  return codedRangeError('ERR_NOT_A_MODEL', `Cannot import a model as ${path} is none: ${rule}`, { path })
}
