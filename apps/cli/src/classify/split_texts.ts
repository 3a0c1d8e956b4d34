import { Philox } from '@cudnn-rnn/rnn/executors'
import type { LabeledText } from '@cudnn-rnn/rnn/tasks'
import { Vocabulary } from '@cudnn-rnn/rnn/train'

/** Texts in three parts of which each has its share of every class. */
export interface TextParts {
  readonly train: readonly LabeledText[]
  /** Decides when to stop. */
  readonly validation: readonly LabeledText[]
  readonly test: readonly LabeledText[]
}

const VALIDATION_SHARE = 0.1
const TEST_SHARE = 0.2

/** Separates the random numbers of the split from others of the same seed. */
const SPLIT_STREAM = 5

export function splitTexts(texts: readonly LabeledText[], seed: number): TextParts {
  const random = new Philox(seed, SPLIT_STREAM)
  const parts = { train: [], validation: [], test: [] } as Record<keyof TextParts, LabeledText[]>
  for (const label of Vocabulary.of(texts.map((text) => text.label)).symbols) {
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
  return parts
}
