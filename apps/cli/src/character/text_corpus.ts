import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { readRegularFile } from '@cudnn-rnn/checkpoint/files'
import { Vocabulary } from '@cudnn-rnn/rnn/train'
import { codedRangeError } from '../coded_error.js'

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

/** The text of a UTF-8 file. Throws RangeError `ERR_TEXT_FILE` when it cannot be read or is not UTF-8. */
export async function readTextFile(path: string): Promise<{ name: string; text: string }> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readRegularFile(path))
    return { name: basename(path), text: text.replaceAll('\r\n', '\n') }
  } catch (cause) {
    const reason =
      (cause as NodeJS.ErrnoException).code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
        ? 'it is not UTF-8 text'
        : (cause as Error).message
    const message = `Cannot read text as the file must be readable UTF-8: ${path}: ${reason}`
    throw codedRangeError('ERR_TEXT_FILE', message, { path, cause })
  }
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
