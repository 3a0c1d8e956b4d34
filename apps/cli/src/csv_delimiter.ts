import { textDataset } from '@cudnn-rnn/rnn/train'

const DELIMITERS = [',', ';', '\t', '|'] as const

/** Names in quotes, and the rows after the header where lines end in a carriage return alone. */
const NO_DELIMITERS = /"[^"]*"|\r.*/g

/** The delimiter of which the header of a CSV file has most; a comma if it has none. */
export async function delimiterOf(path: string): Promise<string> {
  for await (const header of textDataset(path)) {
    const plain = header.replace(NO_DELIMITERS, '')
    const counts = DELIMITERS.map((delimiter) => plain.split(delimiter).length)
    return DELIMITERS[counts.indexOf(Math.max(...counts))]
  }
  return ','
}
