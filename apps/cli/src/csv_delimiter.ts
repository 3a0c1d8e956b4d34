import { textDataset } from '@cudnn-rnn/rnn/train'

const DELIMITERS = [',', ';', '\t', '|'] as const

/** The delimiter of which the header of a CSV file has most; a comma if it has none. */
export async function delimiterOf(path: string): Promise<string> {
  for await (const header of textDataset(path)) {
    const counts = DELIMITERS.map((delimiter) => header.split(delimiter).length)
    return DELIMITERS[counts.indexOf(Math.max(...counts))]
  }
  return ','
}
