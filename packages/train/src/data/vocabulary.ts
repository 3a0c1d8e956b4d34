import { describeValue } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkOptions,
  codedRangeError,
  ITERABLE,
  listOf,
  type OptionsOf,
  optional,
  TEXT,
} from '@cudnn-rnn/canonical/rules'

const OPTIONS = {
  /** The symbol that replaces unknown ones; it must be in the list. Default: unknown symbols are refused. */
  unknown: optional(TEXT),
}

interface VocabularyOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * Symbols (characters, words, class names) and their ids: positions in the list.
 *
 * @example
 * ```ts
 * import { Vocabulary } from '@cudnn-rnn/rnn/train'
 *
 * const letters = Vocabulary.of('banana')
 * console.log(letters.symbols, letters.size) // ['a', 'b', 'n'] 3
 * console.log(letters.decode(letters.encode('nab'))) // nab
 * const words = new Vocabulary(['<unknown>', 'win', 'money'], { unknown: '<unknown>' })
 * console.log(words.encode(['win', 'a', 'car'])) // [1, 0, 0]
 * ```
 */
export class Vocabulary {
  readonly symbols: readonly string[]
  /** Replacement of unknown symbols; undefined rejects them. */
  readonly unknownId: number | undefined
  readonly #ids: ReadonlyMap<string, number>

  /** Throws RangeError `ERR_UNKNOWN_SYMBOL` if `options.unknown` is not one of the symbols. */
  constructor(symbols: Iterable<string>, options: VocabularyOptions = {}) {
    const action = 'make a vocabulary'
    const { symbols: listed } = checkArguments(action, { symbols }, { symbols: ITERABLE })
    const given = checkOptions(action, options, OPTIONS)
    this.symbols = [...listed]
    checkArguments(action, { symbols: this.symbols }, { symbols: listOf(TEXT) })
    this.#ids = new Map(this.symbols.map((symbol, id) => [symbol, id]))
    this.unknownId = given.unknown === undefined ? undefined : this.encode([given.unknown])[0]
  }

  /** Every symbol that occurs, in code point order; a string is read character by character. */
  static of(symbols: Iterable<string>): Vocabulary {
    const { symbols: all } = checkArguments('make a vocabulary', { symbols }, { symbols: ITERABLE })
    const distinct = [...new Set(all)]
    checkArguments('make a vocabulary', { symbols: distinct }, { symbols: listOf(TEXT) })
    return new Vocabulary(distinct.sort(byCodePoints))
  }

  get size(): number {
    return this.symbols.length
  }

  /** Ids of the symbols, a string's characters for example. Throws RangeError `ERR_UNKNOWN_SYMBOL` naming the first one. */
  encode(symbols: Iterable<string>): Int32Array {
    const { symbols: listed } = checkArguments('encode', { symbols }, { symbols: ITERABLE })
    return Int32Array.from(Array.from(listed), (symbol, index) => {
      const id = this.#ids.get(symbol) ?? this.unknownId
      if (id !== undefined) return id
      throw codedRangeError(
        'ERR_UNKNOWN_SYMBOL',
        `Cannot encode as the vocabulary of ${this.size} must contain ${describeValue(symbol)}: it is at position ${index}`,
        { symbol, index },
      )
    })
  }

  /** The symbols joined, without ids out of range. */
  decode(ids: Iterable<number>, separator = ''): string {
    const { ids: listed } = checkArguments('decode', { ids, separator }, { ids: ITERABLE, separator: TEXT })
    return Array.from(listed, (id) => this.symbols[id])
      .filter((symbol) => symbol !== undefined)
      .join(separator)
  }
}

function byCodePoints(a: string, b: string): number {
  const [left, right] = [Array.from(a), Array.from(b)]
  for (const [index, character] of left.entries()) {
    const other = right[index]
    if (other === undefined) return 1
    if (character !== other) return (character.codePointAt(0) ?? 0) - (other.codePointAt(0) ?? 0)
  }
  return left.length - right.length
}
