import { readdir, stat } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { readRegularFile } from '@cudnn-rnn/checkpoint/files'
import { csvDataset, DataError, jsonLinesDataset } from '@cudnn-rnn/rnn/train'
import { delimiterOf } from '../csv_delimiter.js'
import { decodedText } from '../decoded_text.js'

/** A text, its place in the data, and its class if that is known. */
export interface SourceText {
  /** A file, with the row of a table. */
  readonly source: string
  readonly text: string
  readonly label?: string | undefined
}

export interface TextColumns {
  readonly textField: string
  readonly labelField: string
  /** Delimiter of CSV; undefined: the one that the header has. */
  readonly delimiter?: string | undefined
}

export const TEXT_FORMATS = ['text', 'lines', 'csv', 'jsonl'] as const
export type TextFormat = (typeof TEXT_FORMATS)[number]

/** Formats by the ending of a file; other files are one text each. */
const BY_ENDING: Readonly<Record<string, TextFormat>> = {
  '.csv': 'csv',
  '.tsv': 'csv',
  '.jsonl': 'jsonl',
  '.ndjson': 'jsonl',
}

/**
 * The texts of a folder: a file in a subfolder has the subfolder's name as its class, the folder's own files have none.
 * Hidden files are passed over.
 *
 * @throws DataError `ERR_DATA_IO`; RangeError `ERR_TEXT_FILE` for a file that is not UTF-8
 */
export async function readTextFolder(folder: string): Promise<SourceText[]> {
  const texts: SourceText[] = []
  for (const { name, path, isFolder } of await entriesOf(folder)) {
    if (!isFolder) texts.push({ source: name, text: await readText(path) })
    else
      for (const file of await filesBelow(path))
        texts.push({ source: join(name, file), text: await readText(join(path, file)), label: name })
  }
  return texts
}

/** A member that a record of a file has itself: every object inherits a `constructor`. */
function ownMember(record: unknown, name: string): unknown {
  if (typeof record !== 'object' || record === null || !Object.hasOwn(record, name)) return undefined
  return Reflect.get(record, name)
}

/** The rows of a CSV file. Throws DataError as `csvDataset`, `ERR_DATA_COLUMN` for a file without the column of texts. */
export async function readTextCsv(path: string, columns: TextColumns): Promise<SourceText[]> {
  const texts: SourceText[] = []
  const delimiter = columns.delimiter ?? (await delimiterOf(path))
  for await (const fields of csvDataset(path, { delimiter })) {
    const row = texts.length + 2
    const [text, label] = [columns.textField, columns.labelField].map((name) =>
      Object.hasOwn(fields, name) ? fields[name] : undefined,
    )
    if (text === undefined) throw missingField(path, row, columns.textField, fields)
    texts.push({ source: `${basename(path)}:${row}`, text, label })
  }
  return texts
}

/** The objects of a JSON-lines file. Throws DataError as `jsonLinesDataset`, `ERR_DATA_COLUMN` and `ERR_DATA_VALUE` for a field that is absent or no text. */
export async function readTextJsonLines(path: string, { textField, labelField }: TextColumns): Promise<SourceText[]> {
  const texts: SourceText[] = []
  let row = 0
  for await (const value of jsonLinesDataset(path)) {
    row++
    const field = (column: string, accepts: readonly string[]) => {
      const found: unknown = ownMember(value, column)
      if (accepts.includes(typeof found)) return found
      if (found === undefined && typeof value === 'object' && value !== null)
        throw missingField(path, row, column, value)
      throw new DataError(
        'ERR_DATA_VALUE',
        `Cannot read ${path} as value ${row}, field ${column} must be a ${accepts.filter((type) => type !== 'undefined').join(' or ')}: current value is ${JSON.stringify(found)}`,
        { path, row, column },
      )
    }
    const text = String(field(textField, ['string']))
    const label = field(labelField, ['string', 'number', 'boolean', 'undefined'])
    texts.push({ source: `${basename(path)}:${row}`, text, label: label === undefined ? undefined : String(label) })
  }
  return texts
}

/** The texts of a file of any format, or of a folder. */
export async function readTextFile(
  path: string,
  format: TextFormat | undefined,
  columns: TextColumns,
): Promise<SourceText[]> {
  const isFolder = await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  if (isFolder) return readTextFolder(path)
  const known = format ?? BY_ENDING[extname(path).toLowerCase()] ?? 'text'
  if (known === 'csv') return readTextCsv(path, columns)
  if (known === 'jsonl') return readTextJsonLines(path, columns)
  return textsOf(basename(path), await readText(path), known)
}

/** A plain text as one text or as one for each of its lines that is not blank. */
export function textsOf(source: string, text: string, format: 'text' | 'lines'): SourceText[] {
  if (format === 'text') return [{ source, text }]
  const lines = text.split(/\r?\n/).map((line, index) => ({ source: `${source}:${index + 1}`, text: line }))
  return lines.filter((line) => line.text.trim() !== '')
}

async function readText(path: string): Promise<string> {
  return decodedText(path, await readRegularFile(path).catch((cause: Error) => Promise.reject(unreadable(path, cause))))
}

async function entriesOf(folder: string) {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: Error) =>
    Promise.reject(unreadable(folder, cause)),
  )
  const visible = entries.filter(({ name }) => !name.startsWith('.')).sort((a, b) => (a.name < b.name ? -1 : 1))
  return Promise.all(
    visible.map(async ({ name }) => {
      const path = join(folder, name)
      // Links to folders of texts, too.
      const stats = await stat(path).catch((cause: Error) => Promise.reject(unreadable(path, cause)))
      return { name, path, isFolder: stats.isDirectory() }
    }),
  )
}

/** Files below a folder, relative to it. */
async function filesBelow(folder: string, depth = 0): Promise<string[]> {
  // A link may lead back to a folder above.
  if (depth > MAX_DEPTH) return []
  const files: string[] = []
  for (const { name, path, isFolder } of await entriesOf(folder)) {
    if (!isFolder) files.push(name)
    else for (const file of await filesBelow(path, depth + 1)) files.push(join(name, file))
  }
  return files
}

const MAX_DEPTH = 8

function unreadable(path: string, cause: Error): DataError {
  return new DataError('ERR_DATA_IO', `Cannot read ${path} (${cause.message})`, { path }, { cause })
}

function missingField(path: string, row: number, column: string, record: object): DataError {
  const names = Object.keys(record).join(', ') || 'none'
  const message = `Cannot read ${path} as row ${row} must have a column or field ${column}: current ones are ${names}. Name it by --text-field`
  return new DataError('ERR_DATA_COLUMN', message, { path, row, column })
}
