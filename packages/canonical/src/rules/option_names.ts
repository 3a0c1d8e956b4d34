import { codedTypeError } from './coded_error.js'
import { describeValue } from './described_value.js'

/** The error type of a list of names that leaves an option out. */
type Complete<Options, Known extends readonly string[]> =
  Exclude<keyof Options, Known[number]> extends never
    ? unknown
    : { readonly missing: Exclude<keyof Options, Known[number]> }

/**
 * Names of options, for {@link checkOptionNames}: if the type of the options is known, the compiler refuses a list that
 * lacks one of them or has another. Options of the type `object` may have any list.
 */
export type OptionNames<Options, Known extends readonly string[]> = keyof Options extends never
  ? Known
  : Known & readonly (keyof Options & string)[] & Complete<Options, Known>

/**
 * Refuses option names that are not in `known`, naming the nearest known one on a near miss.
 *
 * @param action the caller's operation, for the message ("build RNN descriptor").
 * @throws TypeError `ERR_UNKNOWN_OPTION` with `option` and `suggestion`; `ERR_INVALID_OPTION_TYPE` for a non-object
 */
export function checkOptionNames<Options extends object, const Known extends readonly string[]>(
  action: string,
  options: Options,
  known: OptionNames<Options, Known>,
): void {
  checkNames(action, options, known)
}

/**
 * Like {@link checkOptionNames}, of a list that is put together at run time.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION` with `option` and `suggestion`; `ERR_INVALID_OPTION_TYPE` for a non-object
 */
export function checkNames(action: string, options: object, known: readonly string[]): void {
  checkIsObject(action, 'options', options, `. ${listed(known)}`)
  const unknown = unknownName(namesOf(action, options), known)
  if (unknown !== undefined) throw unknownOption(action, unknown.name, unknown)
}

/** A name that is not known, and advice for its writer. */
export interface UnknownName {
  readonly name: string
  readonly suggestion: string | undefined
  readonly advice: string
}

export function unknownName(names: readonly string[], known: readonly string[]): UnknownName | undefined {
  const name = names.find((each) => !known.includes(each))
  if (name === undefined) return undefined
  const suggestion = suggestedName(name, known, Math.max(2, Math.floor(name.length / 3)))
  const hint =
    suggestion === undefined
      ? (adviceOn(OTHER_NAMES.get(plain(name)) ?? '', known) ?? listed(known))
      : `Did you mean ${suggestion}?`
  return { name, suggestion, advice: adviceOn(name, known) ?? hint }
}

/** A question about a text that is not a choice; fewer typing errors are forgiven than in names, as `gelu` is not `elu`. */
export function choiceAdvice(value: unknown, known: readonly string[]): string | undefined {
  const meant = typeof value === 'string' ? suggestedName(value, known, Math.floor(value.length / 5)) : undefined
  return meant && `Did you mean ${meant}?`
}

/** The one of `known` that `name` was probably meant to be: by another library's name for it, or by its letters. */
function suggestedName(name: string, known: readonly string[], mostErrors: number): string | undefined {
  const meant = OTHER_NAMES.get(plain(name).replace(/(.)loss$/, '$1'))
  return known.find((each) => each === meant) ?? nearest(name, known, mostErrors)
}

function adviceOn(name: string, known: readonly string[]): string | undefined {
  const advice = ADVICE.get(plain(name))
  return advice === LABELS && !known.includes('loss') ? undefined : advice
}

function listed(known: readonly string[]): string {
  return `Known options: ${[...new Set(known)].join(', ')}.`
}

export function unknownOption(action: string, path: string, { suggestion, advice }: UnknownName): Error {
  const message = `Cannot ${action} as the option is unknown: current name is ${path}. ${advice}`
  return codedTypeError('ERR_UNKNOWN_OPTION', message, { option: path, suggestion })
}

/** Throws TypeError `ERR_INVALID_OPTION_TYPE` for a value without fields: null, a number, a string, … */
export function checkIsObject(action: string, name: string, value: unknown, advice = ''): asserts value is object {
  if (typeof value === 'object' && value !== null) return
  throw codedTypeError(
    'ERR_INVALID_OPTION_TYPE',
    `Cannot ${action} as ${name} must be an object: current value is ${describeValue(value)}${advice}`,
    { argument: name },
  )
}

function namesOf(action: string, options: object): string[] {
  let cause: unknown
  try {
    const names = Object.keys(options)
    // A Map, a promise or an empty array has contents that would not be read.
    if (names.length > 0 || Object.prototype.toString.call(options) === '[object Object]') return names
  } catch (error) {
    cause = error
  }
  const message = `Cannot ${action} as the options cannot be read: ${describeValue(options)}`
  throw codedTypeError('ERR_INVALID_OPTION_TYPE', message, { cause })
}

/** What there is here by each name that other libraries have for it, in plain letters. */
const byOtherName = (table: Readonly<Record<string, string>>) =>
  new Map(Object.entries(table).flatMap(([own, others]) => others.split(' ').map((other) => [other, own] as const)))

/** Names of options and of their values; losses without `loss`. */
const OTHER_NAMES = byOtherName({
  input: 'x inputs features',
  label: 'y target targets labels',
  numUnits: 'hiddensize hiddendim units',
  units: 'outfeatures outputdim embeddingdim',
  direction: 'bidirectional',
  numProj: 'projsize',
  learningRate: 'lr',
  validation: 'validationdata validationsplit',
  onStep: 'callbacks onepoch onepochend onbatchend',
  maxSteps: 'steps',
  progress: 'verbose',
  earlyStopping: 'patience',
  metric: 'monitor',
  isKnownAhead: 'knownahead',
  accumulate: 'gradientaccumulationsteps',
  clipNorm: 'maxnorm clipgradnorm gradclip maxgradnorm',
  peak: 'maxlr initial',
  steps: 'totalsteps',
  rate: 'p',
  dropout: 'recurrentdropout',
  size: 'inputdim vocabsize numembeddings',
  softmax_cross_entropy: 'crossentropy categoricalcrossentropy sparsecategoricalcrossentropy nll',
  sigmoid_cross_entropy: 'bce bcewithlogits binarycrossentropy',
  mean_squared_error: 'mse',
  mean_absolute_error: 'mae l1',
  silu: 'swish',
  bidirectional: 'both',
  safetensors: 'pt pth pytorch torch',
})

const LABELS = 'Labels come in the examples, { input, label }, or in the batches.'
/** Sentences for names that no option has. */
const ADVICE = byOtherName({
  // The first name of an array, and of a tensor.
  [LABELS]: '0 data',
  'Batches are time-major, [T,B,I]; models join a list of rows [T,I].': 'batchfirst timemajor',
  'A network returns all steps; lastStep() keeps the last one.': 'returnsequences',
  'The executor has it: openBackend(name, options).': 'device dtype precision threads',
  'model.stream() carries states.': 'stateful',
  'Examples have weights: { input, label, weight }.': 'classweight classweights sampleweight sampleweights',
  'An optimizer has it: optimizer: (variables) => new Adam(variables, { weightDecay }).': 'weightdecay',
  'fit has it, and apply(gradients, rate) of an optimizer.': 'learningrate',
  'The model has it: sequential(backend, layers, { seed }).': 'seed',
  'A batch has weights of its steps, [T,B]; 0 leaves one out.': 'mask',
  'An optimizer keeps a variable by a rateFactor of 0.': 'trainable',
  'The loss and the accuracy are always computed.': 'metrics',
})

function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

function nearest(name: string, known: readonly string[], mostErrors: number): string | undefined {
  let best: string | undefined
  let bestDistance = mostErrors + 1
  for (const candidate of known) {
    const distance = editDistance(plain(name), plain(candidate))
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    let left = i
    let diagonal = i - 1
    const next = [left]
    for (const [j, above] of row.slice(1).entries()) {
      left = Math.min(diagonal + (a[i - 1] === b[j] ? 0 : 1), above + 1, left + 1)
      diagonal = above
      next.push(left)
    }
    row = next
  }
  return row.at(-1) ?? 0
}
