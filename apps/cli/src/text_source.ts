import { createCorpus, readMobyDick, readTextFile, type TextCorpus } from './text_corpus.js'
import type { Vocabulary } from './vocabulary.js'

/** The corpus of a text file, or of the book that comes with the installation. Throws as the functions it calls. */
export async function loadCorpus(textFile: string | undefined, vocabulary?: Vocabulary): Promise<TextCorpus> {
  const { name, text } = textFile === undefined ? await readMobyDick() : await readTextFile(textFile)
  return createCorpus(name, text, vocabulary)
}
