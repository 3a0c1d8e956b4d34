import { codedRangeError } from './coded_error.js'

/**
 * The text of bytes in UTF-8, or in UTF-16 as Windows writes it with its mark; the mark is left out.
 *
 * @param path names the bytes in messages
 * @throws RangeError `ERR_TEXT_FILE` for other bytes, and for NUL characters: most binary files are valid UTF-8 with them
 */
export function decodedText(path: string, bytes: Uint8Array): string {
  const refused = (reason: string, cause?: unknown) => {
    const message = `Cannot read text as the file must be readable UTF-8: ${path}: ${reason}`
    return codedRangeError('ERR_TEXT_FILE', message, { path, cause })
  }
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8'
  let text: string
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch (cause) {
    // A string holds less than half a gigabyte.
    throw refused(bytes.length < 2 ** 29 ? 'it is not UTF-8 text' : 'it is too large or not UTF-8 text', cause)
  }
  if (text.includes('\0')) throw refused('it has NUL characters, as binary files have')
  return text
}
