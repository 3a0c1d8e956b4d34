import { required } from '@cudnn-rnn/arguments'
import { DTYPES, type DType } from '@cudnn-rnn/backend'
import type { Tensor } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import { dtypeOf } from '@cudnn-rnn/executor-kit'

type Elements = Tensor['data']

const DTYPE_NAMES = Object.keys(DTYPES) as readonly DType[]

/**
 * Many small calls as one message. Its numbers are one array and its elements one array for each dtype, because the
 * structured clone of an object or a buffer takes longer than the step of a small network.
 */
export interface PackedMessage {
  readonly numbers: Int32Array
  /** By number of the dtype; undefined where no tensor has it. */
  readonly elements: readonly (Elements | undefined)[]
  /** Errors and states, which are rare. */
  readonly values: readonly unknown[]
}

/** Writes a {@link PackedMessage}; {@link MessageReader} reads it in the same order. */
export class MessageWriter {
  readonly #numbers: number[] = []
  readonly #tensors: Elements[][] = DTYPE_NAMES.map(() => [])
  readonly #values: unknown[] = []

  get isEmpty(): boolean {
    return this.#numbers.length === 0
  }

  /** @param numbers 32-bit integers. */
  write(...numbers: readonly number[]): void {
    this.#numbers.push(...numbers)
  }

  writeValue(value: unknown): void {
    this.#values.push(value)
  }

  /** Copies the elements: the caller may overwrite them immediately. */
  writeTensor({ data, shape }: Tensor): void {
    const dtype = DTYPE_NAMES.indexOf(dtypeOf(data) as DType)
    this.#numbers.push(dtype, shape.length, ...shape)
    this.#tensors[dtype].push(data.slice())
  }

  /** The message, and the buffers to transfer with it; the writer is empty afterwards. */
  take(): { readonly message: PackedMessage; readonly transfer: readonly ArrayBuffer[] } {
    const elements = this.#tensors.map((arrays, dtype) => {
      if (arrays.length === 0) return undefined
      const joined = new DTYPES[DTYPE_NAMES[dtype]].array(arrays.reduce((sum, { length }) => sum + length, 0))
      let offset = 0
      for (const array of arrays) {
        joined.set(array, offset)
        offset += array.length
      }
      arrays.length = 0
      return joined
    })
    const numbers = Int32Array.from(this.#numbers.splice(0))
    const transfer = [numbers, ...elements].flatMap((array) =>
      array === undefined ? [] : [array.buffer as ArrayBuffer],
    )
    return { message: { numbers, elements, values: this.#values.splice(0) }, transfer }
  }
}

/** Reads a message of a {@link MessageWriter}. */
export class MessageReader {
  readonly #message: PackedMessage
  readonly #offsets = DTYPE_NAMES.map(() => 0)
  #number = 0
  #value = 0

  constructor(message: PackedMessage) {
    this.#message = message
  }

  get isAtEnd(): boolean {
    return this.#number === this.#message.numbers.length
  }

  read(): number {
    return this.#message.numbers[this.#number++]
  }

  readValue(): unknown {
    return this.#message.values[this.#value++]
  }

  /** A view of the message's elements. */
  readTensor(): Tensor {
    const dtype = this.read()
    const shape = Array.from({ length: this.read() }, () => this.read())
    const count = elementCount(shape)
    const begin = this.#offsets[dtype]
    this.#offsets[dtype] = begin + count
    return {
      data: required(this.#message.elements[dtype], `a message with a tensor of ${dtype} has its elements`).subarray(
        begin,
        begin + count,
      ),
      shape,
    }
  }
}
