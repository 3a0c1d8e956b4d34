import { Philox } from '@cudnn-rnn/rnn/executors'
import { Vocabulary } from '@cudnn-rnn/rnn/train'
import type { LabelledText } from './labelled_text.js'

/** A text as the classifiers read it. */
export interface TextExample {
  /** Word ids; at least one. */
  readonly ids: Int32Array
  /** Id of the label. */
  readonly label: number
}

/** Examples in three parts of which each has its share of every class. */
export interface TextExamples {
  readonly words: Vocabulary
  readonly labels: Vocabulary
  readonly train: readonly TextExample[]
  /** Decides when to stop. */
  readonly validation: readonly TextExample[]
  readonly test: readonly TextExample[]
}

export interface EncodingOptions {
  /** Most frequent words of the training part; all others are one word. */
  readonly vocabularySize: number
  /** Words of a text that are read. */
  readonly maxLength: number
  readonly seed: number
}

const VALIDATION_SHARE = 0.1
const TEST_SHARE = 0.2
const UNKNOWN = '<unknown>'

/** Words in lower case, numbers without their digits, and significant punctuation. */
export function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/\p{L}+(?:'\p{L}+)?|\p{N}+|[!?$%@#]/gu) ?? []
  return words.map((word) => (/^\p{N}/u.test(word) ? `<${word.length} digits>` : word))
}

/** Splits the texts, learns the vocabulary from the training part alone, and encodes all of them. */
export function encodeTexts(texts: readonly LabelledText[], options: EncodingOptions): TextExamples {
  const { vocabularySize, maxLength, seed } = options
  const labels = Vocabulary.of(texts.map(({ label }) => label))
  const random = new Philox(seed, SPLIT_STREAM)
  const parts = { train: [], validation: [], test: [] } as Record<'train' | 'validation' | 'test', LabelledText[]>
  for (const label of labels.symbols) {
    const shuffled = texts
      .filter((text) => text.label === label)
      .map((text) => ({ text, order: random.uniform() }))
      .sort((a, b) => a.order - b.order)
      .map(({ text }) => text)
    const test = Math.ceil(shuffled.length * TEST_SHARE)
    const validation = test + Math.ceil(shuffled.length * VALIDATION_SHARE)
    for (const [place, text] of shuffled.entries()) {
      const part = place < test ? parts.test : place < validation ? parts.validation : parts.train
      part.push(text)
    }
  }
  const words = new Vocabulary([UNKNOWN, ...mostFrequent(parts.train, vocabularySize - 1)], { unknown: UNKNOWN })
  const encode = ({ text, label }: LabelledText): TextExample => {
    const known = wordsOf(text).slice(0, maxLength)
    return { ids: words.encode(known.length === 0 ? [UNKNOWN] : known), label: labels.encode([label])[0]! }
  }
  return {
    words,
    labels,
    train: parts.train.map(encode),
    validation: parts.validation.map(encode),
    test: parts.test.map(encode),
  }
}

/** Separates the random numbers of the split from others of the same seed. */
const SPLIT_STREAM = 5

/** Words that occur twice or more, most frequent first; of equals the alphabet decides. */
function mostFrequent(texts: readonly LabelledText[], count: number): string[] {
  const counts = new Map<string, number>()
  for (const { text } of texts) for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts]
    .filter(([, occurrences]) => occurrences > 1)
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, count)
    .map(([word]) => word)
}
