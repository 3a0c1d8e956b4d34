import { DataError } from '@cudnn-rnn/rnn/train'

/**
 * The mark before the decimals of a column of numbers: a comma if one of them shows that it is, as in 0,5 or 1.234,56.
 *
 * @throws DataError `ERR_DATA_VALUE` for a column in which 1,234 may be either number
 */
export function decimalMarkOf(path: string, column: string, texts: readonly string[]): '.' | ',' {
  const commas = texts.map((text) => text.trim()).filter((text) => text.includes(','))
  // Three digits after the first one to three and each comma may be thousands.
  const isThousands = (text: string) => /^[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/.test(text)
  if (commas.some((text) => /^[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+(?:e[+-]?\d+)?$/i.test(text) && !isThousands(text))) {
    return ','
  }
  if (commas.length === 0 || commas.some((text) => text.split(',').length > 2 || text.includes('.'))) return '.'
  if (!commas.every(isThousands)) return '.'
  const row = texts.findIndex((text) => text.includes(',')) + 2
  throw new DataError(
    'ERR_DATA_VALUE',
    `Cannot read ${path} as the comma in column ${column} must be a decimal mark or one of thousands, and may be both: write numbers with a decimal point and without marks of thousands; current value of row ${row} is ${JSON.stringify(commas[0])}`,
    { path, row, column },
  )
}

/** A number as JavaScript reads it; a point in the place of a mark that is a comma makes none. */
export function withPoint(text: string, mark: '.' | ',' = '.'): string {
  const thousands = mark === ',' ? /^[+-]?\d{1,3}(?:\.\d{3})+(?:,\d+)?$/ : /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/
  const plain = thousands.test(text.trim()) ? text.replaceAll(mark === ',' ? '.' : ',', '') : text
  return mark === ',' ? plain.replace(/[.,]/g, (each) => (each === '.' ? ',' : '.')) : plain
}
