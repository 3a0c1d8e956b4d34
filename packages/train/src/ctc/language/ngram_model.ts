import { describeValue } from '@cudnn-rnn/canonical'
import { checkOptions, codedTypeError, integerIn, madeIn, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'

const MAX_ORDER = 16
const OPTIONS = {
  /** Tokens that are looked at, the predicted one included; default 3. */
  order: optional(integerIn(1, MAX_ORDER)),
}

/** Options of {@link NGramModel.train}. */
export interface NGramOptions extends OptionsOf<typeof OPTIONS> {}

/** A model as `toJSON()` returns it: plain JSON. */
export interface SavedNGramModel {
  readonly format: 'cudnn-rnn-ngram'
  readonly version: 1
  readonly order: number
  /** In the order of their numbers. */
  readonly tokens: readonly string[]
  /** For each context (numbers joined by blanks, '' for none): [number, count, number, count, …] of the tokens after it. */
  readonly counts: Readonly<Record<string, readonly number[]>>
}

/** Before the first token and after the last one; no token of a text is empty. */
const BOUNDARY = ''

/** A context: counts of the tokens after it, and the contexts that are one token longer, by their oldest token. */
interface Context {
  total: number
  readonly counts: Map<number, number>
  readonly longer: Map<number, Context>
}

const newContext = (): Context => ({ total: 0, counts: new Map(), longer: new Map() })

/**
 * An n-gram language model over tokens (characters or words) with interpolated Witten-Bell smoothing (Witten, Bell: "The
 * zero-frequency problem", IEEE Transactions on Information Theory 37(4), 1991; in the form of Chen and Goodman 1999):
 *
 *     p(w | h) = (c(h,w) + d(h)·p(w | h')) / (c(h) + d(h))
 *
 * h' is the context h without its oldest token, c(h) the number of tokens counted after h and d(h) how many different
 * ones. Without context the lower distribution is uniform over the vocabulary, the end and one unknown token. Every token
 * has a probability above 0, and they add up to 1.
 *
 * @example
 * ```ts
 * import { NGramModel } from '@cudnn-rnn/rnn/ctc'
 *
 * const model = NGramModel.train([[...'banana'], [...'bandana']], { order: 3 })
 * console.log(model.logProbability(['a', 'n'], 'a') > model.logProbability(['a', 'n'], 'b')) // true
 * const again = NGramModel.fromJSON(JSON.parse(JSON.stringify(model)))
 * console.log(again.logProbability(['a', 'n'], 'a') === model.logProbability(['a', 'n'], 'a')) // true
 * ```
 */
export class NGramModel {
  readonly order: number
  readonly #numbers: ReadonlyMap<string, number>
  /** The context without tokens. */
  readonly #shortest: Context

  private constructor(order: number, numbers: ReadonlyMap<string, number>, shortest: Context) {
    this.order = order
    this.#numbers = numbers
    this.#shortest = shortest
  }

  /**
   * Counts sequences of tokens: `[...text]` for characters, `text.split(' ')` for words. Start and end are counted, too.
   *
   * @throws TypeError `ERR_LANGUAGE_MODEL`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
   */
  static train(sequences: Iterable<readonly string[]>, options: NGramOptions = {}): NGramModel {
    const { order = 3 } = checkOptions('train an n-gram model', options, OPTIONS)
    checkIsIterable(sequences)
    const numbers = new Map([[BOUNDARY, 0]])
    const shortest = newContext()
    for (const sequence of sequences) {
      const tokens = checkedSequence(sequence).map((token) => madeIn(numbers, token, () => numbers.size))
      countSequence(shortest, new Array<number>(order - 1).fill(0).concat(tokens, 0), order)
    }
    return new NGramModel(order, numbers, shortest)
  }

  /** @throws TypeError `ERR_LANGUAGE_MODEL` for what `toJSON()` did not return */
  static fromJSON(saved: SavedNGramModel): NGramModel {
    checkSaved(saved)
    const numbers = new Map(saved.tokens.map((token, number) => [token, number]))
    const shortest = newContext()
    for (const [name, pairs] of Object.entries(saved.counts)) {
      const tokens = name === '' ? [] : name.split(' ').map(Number)
      const context = tokens.reduceRight((shorter, token) => madeIn(shorter.longer, token, newContext), shortest)
      for (let k = 0; k < pairs.length; k += 2) addCount(context, pairs[k], pairs[k + 1])
    }
    return new NGramModel(saved.order, numbers, shortest)
  }

  toJSON(): SavedNGramModel {
    const counts = countsByName(this.#shortest, '')
    return {
      format: 'cudnn-rnn-ngram',
      version: 1,
      order: this.order,
      tokens: [...this.#numbers.keys()],
      counts: Object.fromEntries(counts),
    }
  }

  /** The tokens that were counted. */
  get vocabulary(): readonly string[] {
    return [...this.#numbers.keys()].filter((token) => token !== BOUNDARY)
  }

  /**
   * ln p(token | context).
   *
   * @param context the tokens before, from the start of the sequence or at least `order - 1` of them: fewer than that are
   *   taken as the sequence's beginning.
   * @param token null for the end of the sequence.
   * @throws TypeError `ERR_LANGUAGE_MODEL` for a context that is not an array of strings, or another token
   */
  logProbability(context: readonly string[], token: string | null): number {
    checkQuestion(context, token)
    const number = token === null ? 0 : (this.#numbers.get(token) ?? UNKNOWN)
    // The vocabulary and the end, and one for all unknown tokens.
    let probability = 1 / (this.#numbers.size + 1)
    let known: Context | undefined = this.#shortest
    for (let length = 0; known !== undefined && known.total > 0; length++) {
      const { total, counts, longer }: Context = known
      probability = ((counts.get(number) ?? 0) + counts.size * probability) / (total + counts.size)
      const older = context[context.length - 1 - length]
      known = longer.get(older === undefined ? 0 : (this.#numbers.get(older) ?? UNKNOWN))
    }
    return Math.log(probability)
  }
}

const UNKNOWN = -1

/** Counts every token after its contexts of all lengths. */
function countSequence(shortest: Context, padded: readonly number[], order: number): void {
  for (let at = order - 1; at < padded.length; at++) {
    let context = shortest
    addCount(context, padded[at], 1)
    for (let length = 1; length < order; length++) {
      context = madeIn(context.longer, padded[at - length], newContext)
      addCount(context, padded[at], 1)
    }
  }
}

function addCount(context: Context, number: number, count: number): void {
  context.total += count
  context.counts.set(number, (context.counts.get(number) ?? 0) + count)
}

/** The counts of a context of that name, and of all longer ones. */
function countsByName({ counts, longer }: Context, name: string): [name: string, pairs: number[]][] {
  const own: [string, number[]][] = counts.size === 0 ? [] : [[name, [...counts].flat()]]
  const others = [...longer].flatMap(([token, context]) => countsByName(context, `${token} ${name}`.trimEnd()))
  return [...own, ...others]
}

function checkIsIterable(sequences: Iterable<readonly string[]>): void {
  if (typeof sequences?.[Symbol.iterator] === 'function' && !ArrayBuffer.isView(sequences)) return
  throw codedTypeError(
    'ERR_LANGUAGE_MODEL',
    `Cannot train an n-gram model as sequences must be an iterable of arrays: current value is ${describeValue(sequences)}`,
  )
}

function checkQuestion(context: readonly string[], token: string | null): void {
  const isToken = token === null || typeof token === 'string'
  if (isToken && Array.isArray(context) && context.every((each) => typeof each === 'string')) return
  const [name, rule, value] = isToken
    ? ['context', 'an array of strings', context]
    : ['token', 'a string or null', token]
  throw codedTypeError(
    'ERR_LANGUAGE_MODEL',
    `Cannot compute a probability as ${name} must be ${rule}: current value is ${describeValue(value)}`,
    { argument: name, value },
  )
}

function checkedSequence(sequence: readonly string[]): readonly string[] {
  const isSequence =
    Array.isArray(sequence) && sequence.every((token) => typeof token === 'string' && token !== BOUNDARY)
  if (isSequence) return sequence
  throw codedTypeError(
    'ERR_LANGUAGE_MODEL',
    `Cannot train an n-gram model as every sequence must be an array of non-empty strings: current value is ${describeValue(sequence)}`,
    {},
  )
}

/** Throws TypeError `ERR_LANGUAGE_MODEL` unless a scorer can use `model` and `alphabet`. */
export function checkScorerArguments(action: string, model: NGramModel, alphabet: readonly string[]): void {
  const isModel = model instanceof NGramModel
  if (isModel && Array.isArray(alphabet)) return
  const [name, rule, value] = isModel
    ? ['alphabet', 'an array of strings', alphabet]
    : ['model', 'an NGramModel', model]
  throw codedTypeError(
    'ERR_LANGUAGE_MODEL',
    `Cannot ${action} as ${name} must be ${rule}: current value is ${describeValue(value)}`,
    { argument: name, value },
  )
}

function checkSaved(saved: SavedNGramModel): void {
  const isModel =
    typeof saved === 'object' &&
    saved !== null &&
    saved.format === 'cudnn-rnn-ngram' &&
    saved.version === 1 &&
    Number.isInteger(saved.order) &&
    saved.order >= 1 &&
    saved.order <= MAX_ORDER &&
    Array.isArray(saved.tokens) &&
    saved.tokens[0] === BOUNDARY &&
    saved.tokens.every((token) => typeof token === 'string') &&
    new Set(saved.tokens).size === saved.tokens.length &&
    typeof saved.counts === 'object' &&
    saved.counts !== null &&
    Object.values(saved.counts).every((pairs) => isCounts(pairs, saved.tokens.length))
  if (isModel) return
  throw codedTypeError(
    'ERR_LANGUAGE_MODEL',
    `Cannot load an n-gram model as it must be what toJSON() returned: current value is ${describeValue(saved)}`,
    {},
  )
}

function isCounts(pairs: unknown, tokens: number): boolean {
  if (!Array.isArray(pairs) || pairs.length === 0 || pairs.length % 2 !== 0) return false
  return pairs.every(
    (value, k) => Number.isSafeInteger(value) && (k % 2 === 0 ? value >= 0 && value < tokens : value > 0),
  )
}
