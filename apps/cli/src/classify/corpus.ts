import { basename } from 'node:path'
import { DataError, jsonLinesDataset } from '@cudnn-rnn/rnn/train'
import { codedRangeError } from '../coded_error.js'
import type { LabelledText } from './labelled_text.js'
import { readSpamMessages } from './spam_messages.js'

/** Texts with their labels, under a name for people. */
export interface Corpus {
  readonly name: string
  readonly texts: readonly LabelledText[]
}

export interface CorpusSource {
  /** JSON lines; undefined: the messages of the data package. */
  readonly jsonl: string | undefined
  readonly textField: string
  readonly labelField: string
  /** Texts to use at most. */
  readonly limit: number
}

/** Fewer of a class would leave none for one of the three parts. */
const MINIMUM_PER_CLASS = 10

/**
 * Reads the corpus that the options mean.
 *
 * @throws DataError naming row and column of a value that is not text; RangeError `ERR_DATA_PACKAGE`, `ERR_CLASSES`
 */
export async function readCorpus(source: CorpusSource): Promise<Corpus> {
  const { jsonl, limit } = source
  const corpus =
    jsonl === undefined
      ? { name: 'SpamAssassin messages', texts: await readSpamMessages(limit) }
      : { name: basename(jsonl), texts: (await readJsonLines(jsonl, source)).slice(0, limit) }
  const counts = new Map<string, number>()
  for (const { label } of corpus.texts) counts.set(label, (counts.get(label) ?? 0) + 1)
  const isEnough = [...counts.values()].every((count) => count >= MINIMUM_PER_CLASS)
  if (counts.size >= 2 && isEnough) return corpus
  const shown = [...counts].map(([label, count]) => `${label} ${count}`).join(', ')
  throw codedRangeError(
    'ERR_CLASSES',
    `Cannot classify as there must be two classes or more of at least ${MINIMUM_PER_CLASS} texts each: current classes are ${shown || 'none'}`,
    { counts: Object.fromEntries(counts) },
  )
}

async function readJsonLines(path: string, { textField, labelField }: CorpusSource): Promise<LabelledText[]> {
  const texts: LabelledText[] = []
  let row = 0
  for await (const value of jsonLinesDataset(path)) {
    row++
    const field = (column: string, accepts: readonly string[]) => {
      const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, column) : undefined
      if (accepts.includes(typeof found)) return String(found)
      throw new DataError(
        'ERR_DATA_VALUE',
        `Cannot read ${path} as value ${row}, field ${column} must be a ${accepts.join(' or ')}: current value is ${JSON.stringify(found)}`,
        { path, row, column },
      )
    }
    texts.push({ text: field(textField, ['string']), label: field(labelField, ['string', 'number', 'boolean']) })
  }
  return texts
}
