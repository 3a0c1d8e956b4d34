import { unsupported } from '../errors.js'
import type { ImportedCell, ImportedNetwork, Interpretation } from './interpretation.js'

/** Elements of 16 bits become float32: networks may take so many times the bytes of their file. */
const LARGEST_GROWTH = 2
/** Networks of any file may take this much: there may be thousands of small ones. */
const FREE_BYTES = 2 ** 25
/** Memory overhead of an array, and of a network beside its arrays. */
const BYTES_PER_ARRAY = 256
const BYTES_PER_NETWORK = 1024

/** 4,096 layers of two directions. Each tensor becomes several: a network of many tiny ones would take far more than the file. */
const MOST_TENSORS = 2 ** 15

/**
 * Bounds the memory of imported networks by the size of their file: a small file can name the same elements
 * for any number of networks, and each that does not share them would have its own copy.
 */
export class MemoryBudget {
  readonly #path: string
  readonly #heldBytes: () => number
  readonly #counted = new Set<object>()
  #taken = 0

  /** @param heldBytes size of the file in bytes, unpacked; more may become known while it is read. */
  constructor(path: string, heldBytes: () => number) {
    this.#path = path
    this.#heldBytes = heldBytes
  }

  /** Throws WeightFileError `ERR_WEIGHTS_UNSUPPORTED` for an interpretation of more tensors than a network has. */
  check({ name, tensors }: Interpretation): void {
    if (tensors.length <= MOST_TENSORS) return
    throw unsupported(this.#path, `a network must have at most ${MOST_TENSORS} tensors: ${name} has ${tensors.length}`)
  }

  /** Counts the arrays of `found` that no network before has. Throws WeightFileError `ERR_WEIGHTS_UNSUPPORTED` beyond the bound. */
  charge(found: ImportedNetwork | ImportedCell): void {
    this.#taken += BYTES_PER_NETWORK + 8 * (found.inputs.sequenceLengths?.length ?? 0)
    const { initialH, initialC } = found.inputs
    const parameters =
      'cell' in found ? Object.values(found.variables) : [...found.canonical.weights, ...found.canonical.biases]
    for (const tensor of [...parameters, initialH, initialC]) {
      if (tensor === undefined || this.#counted.has(tensor.data)) continue
      this.#counted.add(tensor.data)
      this.#taken += BYTES_PER_ARRAY + tensor.data.byteLength
    }
    const bound = LARGEST_GROWTH * this.#heldBytes() + FREE_BYTES
    if (this.#taken <= bound) return
    throw unsupported(
      this.#path,
      `its networks must take at most ${bound} bytes: ${found.name} makes them ${this.#taken}. Many of them have the same tensors`,
    )
  }
}
