/** Elements of an array, and numbers of a typed array, that are read; more are read at equal distances. */
const MOST_ELEMENTS = 1024
const MOST_NUMBERS = 4096
/** Levels of nested values that are read. */
const MOST_DEPTH = 8

/** 32-bit FNV-1a over a sample of a value: 8 hexadecimal digits, which equal values share and other data hardly do. */
export function fingerprintOf(value: unknown): string {
  const hash = new Fnv1a()
  addValue(hash, value, 0)
  return (hash.state >>> 0).toString(16).padStart(8, '0')
}

class Fnv1a {
  state = 0x811c9dc5
  readonly #float = new Float64Array(1)
  readonly #words = new Int32Array(this.#float.buffer)

  word(word: number): void {
    const product = Math.imul(this.state ^ word, 0x01000193)
    // Small integers differ in the highest bits of a float64 alone, and a product carries differences to higher bits only.
    this.state = product ^ (product >>> 15)
  }

  number(value: number): void {
    this.#float[0] = value
    for (const word of this.#words) this.word(word)
  }

  text(text: string): void {
    this.word(text.length)
    for (let k = 0; k < text.length; k++) this.word(text.charCodeAt(k))
  }
}

function addValue(hash: Fnv1a, value: unknown, depth: number): void {
  if (typeof value === 'number') hash.number(value)
  else if (typeof value !== 'object' || value === null) hash.text(String(value))
  else if (ArrayBuffer.isView(value) && !(value instanceof DataView)) addNumbers(hash, value as unknown as Numbers)
  else if (depth < MOST_DEPTH) addMembers(hash, value, depth)
}

function addMembers(hash: Fnv1a, value: object, depth: number): void {
  if (Array.isArray(value)) {
    hash.word(value.length)
    for (const index of sampled(value.length, MOST_ELEMENTS)) addValue(hash, value[index], depth + 1)
    return
  }
  for (const [name, each] of Object.entries(value).slice(0, MOST_ELEMENTS)) {
    hash.text(name)
    addValue(hash, each, depth + 1)
  }
}

type Numbers = ArrayLike<number | bigint>

function addNumbers(hash: Fnv1a, numbers: Numbers): void {
  hash.word(numbers.length)
  for (const index of sampled(numbers.length, MOST_NUMBERS)) hash.number(Number(numbers[index]))
}

/** Indices 0..length-1, at most `most` of them. */
function* sampled(length: number, most: number): Generator<number> {
  const count = Math.min(length, most)
  for (let k = 0; k < count; k++) yield Math.floor((k * length) / count)
}
