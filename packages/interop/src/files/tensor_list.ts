import { corrupt, unsupported } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import { LONGEST_NAME } from './joined_name.js'

/** No model has more in one file; each takes some hundred bytes of memory before anything is read. */
const MOST_TENSORS = 2 ** 17
/** A file of nested names repeats the outer ones: together names may take this and the size of the file. */
const FREE_NAME_LENGTH = 2 ** 23

/** The tensors that a reader finds in a file, within limits that bound the memory of the list by the file's size. */
export class TensorList<
  Listed extends Pick<StoredTensor, 'name'> & Partial<Pick<StoredTensor, 'shape'>> = StoredTensor,
> {
  readonly tensors: Listed[] = []
  readonly #path: string
  readonly #mostNameLength: number
  #nameLength = 0

  /** @param fileBytes size of the file, unpacked if it is packed. */
  constructor(path: string, fileBytes: number) {
    this.#path = path
    this.#mostNameLength = FREE_NAME_LENGTH + fileBytes
  }

  /** Throws WeightFileError `ERR_WEIGHTS_CORRUPT`, `ERR_WEIGHTS_UNSUPPORTED` beyond a limit. */
  add(tensor: Listed): void {
    const { length } = tensor.name
    if (length > LONGEST_NAME) throw corrupt(this.#path, `a name in it has ${length} characters, not ${LONGEST_NAME}`)
    const size = tensor.shape?.find((each) => !Number.isSafeInteger(each) || each < 0)
    if (size !== undefined) throw corrupt(this.#path, `a dimension of ${tensor.name} is ${size}`)
    this.#nameLength += length
    if (this.#nameLength > this.#mostNameLength) throw corrupt(this.#path, 'its names are longer than the file')
    if (this.tensors.length === MOST_TENSORS) {
      throw unsupported(this.#path, `a file must hold at most ${MOST_TENSORS} tensors`)
    }
    this.tensors.push(tensor)
  }
}
