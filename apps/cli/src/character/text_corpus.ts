import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { readRegularFile } from '@cudnn-rnn/checkpoint/files'
import { Vocabulary } from '@cudnn-rnn/rnn/train'
import { codedRangeError } from '../coded_error.js'
import { decodedText } from '../decoded_text.js'

/** A text as character ids, split once: the end of it is held out and never trained on. */
export interface TextCorpus {
  readonly name: string
  readonly vocabulary: Vocabulary
  readonly train: Int32Array
  readonly heldOut: Int32Array
}

/** Below this a held-out part would say nothing. */
const MINIMUM_CHARACTERS = 2000

/** At most this many characters are held out: enough for two digits of bits per character, and quick to evaluate. */
const MAXIMUM_HELD_OUT = 20_000

/**
 * Splits `text`: a tenth of it, at most 20,000 characters, is held out at the end.
 *
 * @throws RangeError `ERR_TEXT_TOO_SHORT`; `ERR_UNKNOWN_SYMBOL` for characters that `vocabulary` lacks
 */
export function createCorpus(name: string, text: string, vocabulary = Vocabulary.of(text)): TextCorpus {
  if (text.length < MINIMUM_CHARACTERS) {
    throw codedRangeError(
      'ERR_TEXT_TOO_SHORT',
      `Cannot train on ${name} as a text must have at least ${MINIMUM_CHARACTERS} characters: current length is ${text.length}`,
      { length: text.length, minimum: MINIMUM_CHARACTERS },
    )
  }
  const ids = vocabulary.encode(text)
  const boundary = ids.length - Math.min(MAXIMUM_HELD_OUT, Math.floor(ids.length / 10))
  return { name, vocabulary, train: ids.slice(0, boundary), heldOut: ids.slice(boundary) }
}

/** The text of a file. Throws RangeError `ERR_TEXT_FILE` when it cannot be read, and as {@link decodedText}. */
export async function readTextFile(path: string): Promise<{ name: string; text: string }> {
  const bytes = await readRegularFile(path).catch((cause: Error) => {
    const message = `Cannot read text as the file must be readable UTF-8: ${path}: ${cause.message}`
    throw codedRangeError('ERR_TEXT_FILE', message, { path, cause })
  })
  return { name: basename(path), text: decodedText(path, bytes).replaceAll('\r\n', '\n') }
}

/** Melville's Moby-Dick: 1.2 million characters that are part of the installation. */
export async function readMobyDick(): Promise<{ name: string; text: string }> {
  const ownFolder = dirname(createRequire(import.meta.url).resolve('@cudnn-rnn/cli/package.json'))
  return { name: 'Moby-Dick', text: await readFile(join(ownFolder, 'data/moby_dick.txt'), 'utf8') }
}

/** The corpus of a text file, or of the book in the installation. Throws as the functions it calls. */
export async function loadCorpus(textFile: string | undefined, vocabulary?: Vocabulary): Promise<TextCorpus> {
  const { name, text } = textFile === undefined ? await readMobyDick() : await readTextFile(textFile)
  return createCorpus(name, text, vocabulary)
}
