import { codedRangeError } from './coded_error.js'

/** The characters (Unicode code points) a model knows, and their ids: positions in code point order. */
export class Vocabulary {
  readonly characters: readonly string[]
  readonly #ids: ReadonlyMap<string, number>

  constructor(characters: readonly string[]) {
    this.characters = characters
    this.#ids = new Map(characters.map((character, id) => [character, id]))
  }

  /** Every character that occurs in `text`. */
  static of(text: string): Vocabulary {
    return new Vocabulary([...new Set(text)].sort((a, b) => a.codePointAt(0)! - b.codePointAt(0)!))
  }

  get size(): number {
    return this.characters.length
  }

  /** Ids of the characters of `text`. Throws RangeError `ERR_UNKNOWN_CHARACTER`, naming the first one and its place. */
  encode(text: string): Int32Array {
    return Int32Array.from(Array.from(text), (character, index) => {
      const id = this.#ids.get(character)
      if (id !== undefined) return id
      throw codedRangeError(
        'ERR_UNKNOWN_CHARACTER',
        `Cannot encode text as the model was trained on ${this.size} characters and knows no ${JSON.stringify(character)}: it stands at position ${index}`,
        { character, index },
      )
    })
  }

  decode(ids: Iterable<number>): string {
    return Array.from(ids, (id) => this.characters[id] ?? '').join('')
  }
}
