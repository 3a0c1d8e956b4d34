import { describeValue } from '@cudnn-rnn/canonical'
import { checkOptions, codedTypeError, integerIn, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'

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

/** Counts of the tokens after one context. */
interface Followers {
  total: number
  readonly counts: Map<number, number>
}

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
  readonly #contexts: ReadonlyMap<string, Followers>

  private constructor(order: number, numbers: ReadonlyMap<string, number>, contexts: ReadonlyMap<string, Followers>) {
    this.order = order
    this.#numbers = numbers
    this.#contexts = contexts
  }

  /**
   * Counts sequences of tokens: `[...text]` for characters, `text.split(' ')` for words. Start and end are counted, too.
   *
   * @throws TypeError `ERR_LANGUAGE_MODEL`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
   */
  static train(sequences: Iterable<readonly string[]>, options: NGramOptions = {}): NGramModel {
    checkOptions('train an n-gram model', options, OPTIONS)
    const { order = 3 } = options
    checkIsIterable(sequences)
    const numbers = new Map([[BOUNDARY, 0]])
    const contexts = new Map<string, Followers>()
    for (const sequence of sequences) {
      const tokens = checkedSequence(sequence).map((token) => numberOf(numbers, token))
      countSequence(contexts, [...new Array<number>(order - 1).fill(0), ...tokens, 0], order)
    }
    return new NGramModel(order, numbers, contexts)
  }

  /** @throws TypeError `ERR_LANGUAGE_MODEL` for what `toJSON()` did not return */
  static fromJSON(saved: SavedNGramModel): NGramModel {
    checkSaved(saved)
    const numbers = new Map(saved.tokens.map((token, number) => [token, number]))
    const contexts = new Map<string, Followers>()
    for (const [context, pairs] of Object.entries(saved.counts)) {
      const followers: Followers = { total: 0, counts: new Map() }
      for (let k = 0; k < pairs.length; k += 2) addCount(followers, pairs[k], pairs[k + 1])
      contexts.set(context, followers)
    }
    return new NGramModel(saved.order, numbers, contexts)
  }

  toJSON(): SavedNGramModel {
    const counts = [...this.#contexts].map(([context, { counts }]) => [context, [...counts].flat()] as const)
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
    const used = this.order - 1
    const padding = new Array<number>(Math.max(0, used - context.length)).fill(0)
    const recent = context.slice(Math.max(0, context.length - used))
    const before = [...padding, ...recent.map((each) => this.#numbers.get(each) ?? UNKNOWN)]
    const number = token === null ? 0 : (this.#numbers.get(token) ?? UNKNOWN)
    // The vocabulary and the end, and one for all unknown tokens.
    let probability = 1 / (this.#numbers.size + 1)
    for (let first = used; first >= 0; first--) {
      const followers = this.#contexts.get(before.slice(first).join(' '))
      if (followers === undefined) break
      const { total, counts } = followers
      probability = ((counts.get(number) ?? 0) + counts.size * probability) / (total + counts.size)
    }
    return Math.log(probability)
  }
}

const UNKNOWN = -1

function numberOf(numbers: Map<string, number>, token: string): number {
  let number = numbers.get(token)
  if (number === undefined) {
    number = numbers.size
    numbers.set(token, number)
  }
  return number
}

/** Counts every token after its contexts of all lengths. */
function countSequence(contexts: Map<string, Followers>, padded: readonly number[], order: number): void {
  for (let at = order - 1; at < padded.length; at++) {
    for (let length = 0; length < order; length++) {
      const context = padded.slice(at - length, at).join(' ')
      let followers = contexts.get(context)
      if (followers === undefined) {
        followers = { total: 0, counts: new Map() }
        contexts.set(context, followers)
      }
      addCount(followers, padded[at], 1)
    }
  }
}

function addCount(followers: Followers, number: number, count: number): void {
  followers.total += count
  followers.counts.set(number, (followers.counts.get(number) ?? 0) + count)
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
