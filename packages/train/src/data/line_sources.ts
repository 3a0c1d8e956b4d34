import { DataError } from './data_error.js'
import type { Dataset } from './dataset.js'
import { fileDataset } from './file_source.js'
import { readText } from './unchanged_file.js'

/**
 * The lines of a UTF-8 text file without their ends. Throws DataError as `csvDataset`; `ERR_DATA_SYNTAX` for other
 * bytes, for NUL characters and for a line of more than 67,108,864 characters.
 *
 * @example
 * ```ts
 * import { writeFile } from 'node:fs/promises'
 * import { textDataset } from '@cudnn-rnn/rnn/train'
 *
 * await writeFile('poem.txt', 'one\ntwo\n')
 * for await (const lines of textDataset('poem.txt').batch(2)) console.log(lines) // ['one', 'two']
 * ```
 */
export function textDataset(path: string): Dataset<string> {
  return fileDataset(path, 'lines', () => lines(path))
}

/**
 * The values of a JSON-lines file; blank lines are passed over. The type is the caller's claim and is not checked.
 *
 * @throws DataError while reading: `ERR_DATA_EMPTY`, `ERR_DATA_CHANGED`, `ERR_DATA_SYNTAX` naming the row
 * @example
 * ```ts
 * import { writeFile } from 'node:fs/promises'
 * import { jsonLinesDataset } from '@cudnn-rnn/rnn/train'
 *
 * await writeFile('mail.jsonl', '{"text":"win money","label":"spam"}\n')
 * for await (const { text, label } of jsonLinesDataset<{ text: string; label: string }>('mail.jsonl')) {
 *   console.log(text, label) // win money spam
 * }
 * ```
 */
export function jsonLinesDataset<T = unknown>(path: string): Dataset<T> {
  return fileDataset(path, 'JSON lines', async function* () {
    let row = 0
    for await (const line of lines(path)) {
      row++
      if (line.trim() === '') continue
      let value: T
      try {
        value = JSON.parse(line) as T
      } catch (cause) {
        const message = `Cannot read ${path} as row ${row} must be JSON: ${(cause as Error).message}`
        throw new DataError('ERR_DATA_SYNTAX', message, { path, row }, { cause })
      }
      yield value
    }
  })
}

async function* lines(path: string): AsyncGenerator<string> {
  let rest = ''
  for await (const text of readText(path)) {
    // The pieces of a long line are joined once, and not searched again with each piece.
    const pieces = text.split('\n')
    pieces[0] = rest + pieces[0]
    rest = pieces.pop() ?? ''
    for (const line of pieces) yield line.endsWith('\r') ? line.slice(0, -1) : line
  }
  if (rest !== '') yield rest
}
