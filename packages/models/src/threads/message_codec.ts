import { describeValue, elementCount, type Tensor } from '@cudnn-rnn/canonical'
import { codedTypeError, required } from '@cudnn-rnn/canonical/rules'
import { DTYPES, type DType } from '@cudnn-rnn/ops'
import { dtypeOf } from '@cudnn-rnn/ops/executor'

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

/** Whether a message is one of a {@link MessageWriter}, and not another that a thread sends. */
export function isPackedMessage(message: unknown): message is PackedMessage {
  const { numbers, elements, values } = (message ?? {}) as Partial<PackedMessage>
  return numbers instanceof Int32Array && Array.isArray(elements) && Array.isArray(values)
}

/** The values that may follow the numbers of a call or an answer. */
export type MessagePart = { readonly tensor: Tensor } | { readonly value: unknown }

/** Writes a {@link PackedMessage}; {@link MessageReader} reads it in the same order. */
export class MessageWriter {
  readonly #numbers: number[] = []
  readonly #tensors: Elements[][] = DTYPE_NAMES.map(() => [])
  readonly #values: unknown[] = []

  get isEmpty(): boolean {
    return this.#numbers.length === 0
  }

  /**
   * Writes a call or an answer as a whole, or throws and has written nothing. Copies the part: the caller may overwrite it
   * immediately.
   *
   * @param numbers 32-bit integers.
   * @throws TypeError `ERR_DTYPE` for elements that no executor has; `ERR_NOT_A_STATE` for a value that cannot be cloned
   */
  write(action: string, numbers: readonly number[], part?: MessagePart): void {
    let all = numbers
    if (part !== undefined && 'tensor' in part) {
      const { data, shape } = part.tensor
      const dtype = DTYPE_NAMES.indexOf(dtypeOf(data) as DType)
      if (dtype < 0) {
        throw codedTypeError(
          'ERR_DTYPE',
          `Cannot ${action} as the elements of its tensor must be ${DTYPE_NAMES.join(', ')}: current value is ${describeValue(data)}`,
        )
      }
      all = [...numbers, dtype, shape.length, ...shape]
      this.#tensors[dtype].push(data.slice())
    } else if (part !== undefined) {
      this.#values.push(cloned(action, part.value))
    }
    for (const number of all) this.#numbers.push(number)
  }

  /** The message, and the buffers to transfer with it; the writer is empty afterwards. */
  take(): { readonly message: PackedMessage; readonly transfer: ArrayBuffer[] } {
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
    return required(this.#message.numbers[this.#number++], 'a message has the numbers of whole calls')
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

function cloned(action: string, value: unknown): unknown {
  try {
    return structuredClone(value)
  } catch (cause) {
    throw codedTypeError(
      'ERR_NOT_A_STATE',
      `Cannot ${action} as its state must be a value that structuredClone copies: current value is ${describeValue(value)}`,
      { cause },
    )
  }
}
