import { checkArguments, fields, integerFrom, PATH } from '@cudnn-rnn/canonical/rules'
import { DataError } from './data_error.js'
import { Dataset } from './dataset.js'
import { describeFile } from './file_fingerprint.js'
import { countedSource, savedPosition } from './source.js'
import { statsOf } from './unchanged_file.js'

const SAVED = fields({ count: integerFrom(0), size: integerFrom(0) })

/**
 * A dataset of the elements that `read` yields from a file. Positions also hold the file's size (not its time, which copying to
 * another machine changes): going back into a file of another size is refused with DataError `ERR_DATA_CHANGED`.
 *
 * @param elements names what `read` makes of the bytes, for the description of the source
 */
export function fileDataset<T>(path: string, elements: string, read: () => AsyncIterable<T>): Dataset<T> {
  checkArguments('read a file', { path }, { path: PATH })
  const source = countedSource(read)
  return new Dataset({
    open(position, epoch) {
      const saved = savedPosition(position, SAVED)
      const cursor = source.open(saved?.count, epoch)
      let size: number | undefined
      return {
        async next() {
          size ??= await checkedSize(path, saved?.size)
          const item = await cursor.next()
          return item && { value: item.value, position: { count: item.position, size } }
        },
        close: () => cursor.close(),
      }
    },
    describe: () => `${elements} of a ${describeFile(path)}`,
  })
}

async function checkedSize(path: string, expected: number | undefined): Promise<number> {
  const { size } = await statsOf(path)
  if (expected === undefined || size === expected) return size
  throw new DataError(
    'ERR_DATA_CHANGED',
    `Cannot go on reading ${path} as it must be the file that was read before (${expected} bytes): current size is ${size} bytes`,
    { path },
  )
}
