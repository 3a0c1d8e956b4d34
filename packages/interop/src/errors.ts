import { describeValue } from '@cudnn-rnn/canonical'
import { type ErrorCode, NamedError } from '@cudnn-rnn/canonical/rules'

/** An option of `importWeights` that decides between interpretations. */
export type DecidingOption = 'convention' | 'cellMode' | 'direction'

/**
 * A weight file that cannot be read or written as requested; nothing was changed.
 *
 * @example
 * ```ts
 * import { importWeights, WeightFileError } from '@cudnn-rnn/rnn/interop'
 *
 * try {
 *   await importWeights('no-such-file.pt')
 * } catch (error) {
 *   if (error instanceof WeightFileError) console.log(error.code, error.path) // ERR_WEIGHTS_NOT_FOUND no-such-file.pt
 * }
 * ```
 */
export class WeightFileError extends NamedError {
  static override readonly errorName = 'WeightFileError'
  /** The file, if one was named. */
  readonly path: string | undefined
  /** For `ERR_WEIGHTS_AMBIGUOUS`: every interpretation, in words. */
  readonly interpretations: readonly string[]
  /** For `ERR_WEIGHTS_AMBIGUOUS`: the options of `importWeights` that can decide. */
  readonly decidedBy: readonly DecidingOption[]

  constructor(
    code: ErrorCode,
    message: string,
    given: Partial<Pick<WeightFileError, 'path' | 'interpretations' | 'decidedBy' | 'cause'>> = {},
  ) {
    const { path, interpretations = [], decidedBy = [], cause } = given
    super(code, path === undefined ? message : `${message}: ${path}`, { cause })
    this.path = path
    this.interpretations = interpretations
    this.decidedBy = decidedBy
  }
}

/** The error of bytes that violate their format. */
export function corrupt(path: string, rule: string, cause?: unknown): WeightFileError {
  return new WeightFileError('ERR_WEIGHTS_CORRUPT', `Cannot read weight file as ${rule}`, { path, cause })
}

/** The error of a name that would stand for the last tensor of several. */
export function calledAlike(path: string, name: string): WeightFileError {
  return corrupt(path, `two values in it are called ${name}`)
}

/** The error of a name, or of the lack of one, that must choose one of `known`: networks or tensors of a file. */
export function noneNamed(
  path: string,
  action: string,
  name: string | undefined,
  known: readonly { readonly name: string }[],
): WeightFileError {
  const names = known.slice(0, 20).map((each) => each.name)
  if (known.length > names.length) names.push(`${known.length - names.length} others`)
  const current = typeof name === 'string' ? name : describeValue(name)
  const rule = known.length === 0 ? 'the file must have one' : `its name must be one of ${names.join(', ')}`
  return new WeightFileError('ERR_WEIGHTS_NOT_FOUND', `Cannot ${action} as ${rule}: current name is ${current}`, {
    path,
  })
}

/** The error of a legal file that this package does not read. */
export function unsupported(path: string, rule: string): WeightFileError {
  return new WeightFileError('ERR_WEIGHTS_UNSUPPORTED', `Cannot read weight file as ${rule}`, { path })
}
