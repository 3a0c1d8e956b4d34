import { basename } from 'node:path'
import { required } from '@cudnn-rnn/canonical/rules'
import type { LabeledText } from '@cudnn-rnn/rnn/tasks'
import { DataError } from '@cudnn-rnn/rnn/train'
import { codedRangeError } from '../coded_error.js'
import { readSpamMessages } from './spam_messages.js'
import { readTextCsv, readTextFolder, readTextJsonLines, type SourceText, type TextColumns } from './text_source.js'

/** Texts with their labels, under a name for people. */
export interface Corpus {
  readonly name: string
  readonly texts: readonly LabeledText[]
}

/** At most one of the paths; without one the messages of the data package are meant. */
export interface CorpusSource extends TextColumns {
  readonly jsonl?: string | undefined
  readonly csv?: string | undefined
  /** One subfolder for each class. */
  readonly folder?: string | undefined
  /** Texts to use at most. */
  readonly limit: number
}

/** Fewer of a class would leave none for one of the three parts. */
const MINIMUM_PER_CLASS = 10

/** The path of a source; undefined for the data package. */
export function corpusPath({ jsonl, csv, folder }: CorpusSource): string | undefined {
  return jsonl ?? csv ?? folder
}

/**
 * Reads the corpus that the options mean.
 *
 * @throws DataError naming row and column of a value that is not text; RangeError `ERR_DATA_PACKAGE`, `ERR_CLASSES`
 */
export async function readCorpus(source: CorpusSource): Promise<Corpus> {
  const path = corpusPath(source)
  const corpus =
    path === undefined
      ? { name: 'SpamAssassin messages', texts: await readSpamMessages(source.limit) }
      : { name: basename(path), texts: (await readOwn(source)).slice(0, source.limit) }
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

async function readOwn(source: CorpusSource): Promise<LabeledText[]> {
  const { jsonl, csv, folder, labelField } = source
  const labeled = (path: string, texts: readonly SourceText[]) =>
    texts.map(({ source: place, text, label }, index): LabeledText => {
      if (label !== undefined && label !== '') return { text, label }
      const message = `Cannot read ${path} as every text must have a class, in ${labelField}: value ${index + 1}, field ${labelField} of ${place} has none`
      throw new DataError('ERR_DATA_VALUE', message, { path, row: index + 1, column: labelField })
    })
  if (jsonl !== undefined) return labeled(jsonl, await readTextJsonLines(jsonl, source))
  if (csv !== undefined) return labeled(csv, await readTextCsv(csv, source))
  // Files beside the folders of classes, a README for example, have no class.
  const named = required(folder, 'a corpus without jsonl and csv has a folder')
  const inFolders = (await readTextFolder(named)).filter(({ label }) => label !== undefined)
  return interleaved(labeled(named, inFolders))
}

/** Classes in turn, so that --limit leaves some of each. */
function interleaved(texts: readonly LabeledText[]): LabeledText[] {
  const classes = new Map<string, number>()
  const place = texts.map(({ label }) => {
    const own = classes.get(label) ?? 0
    classes.set(label, own + 1)
    return own
  })
  return texts
    .map((text, index) => ({ text, index }))
    .sort((a, b) => place[a.index] - place[b.index] || a.index - b.index)
    .map(({ text }) => text)
}
