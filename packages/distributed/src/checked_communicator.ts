import {
  arrayTypeOf,
  BYTES,
  checkArguments,
  checkOptions,
  checkOptionValues,
  integerFrom,
  isFloatArray,
  kind,
  OBJECT,
  oneOf,
  optional,
  TEXT,
  where,
} from '@cudnn-rnn/canonical/rules'
import type { Backend } from '@cudnn-rnn/ops'
import { pinBuffer } from '@cudnn-rnn/ops/executor'
import type { AllReduceOptions, Communicator, ReduceOperation, ReducibleArray, TensorSum } from '@cudnn-rnn/train'
import { CommunicatorError } from './communicator_error.js'

/** The collective calls of an engine. Arguments have been checked, and no buffer can be transferred any more. */
export interface Transport {
  /** @param wire for sums of floats alone */
  allReduce(array: ReducibleArray, op: ReduceOperation, wire: AllReduceOptions['wire']): Promise<void>
  /** {@link Communicator.tensorSum} */
  tensorSum?(backend: Backend): TensorSum | undefined
  broadcast(bytes: Uint8Array, root: number): Promise<void>
  allGather(bytes: Uint8Array): Promise<Uint8Array[]>
  barrier(): Promise<void>
  abort(reason: string, code: number): never
  close(): Promise<void>
}

/** When a job is ended: see the options of `openCommunicator`. */
export interface Limits {
  readonly timeoutSeconds: number
  readonly silenceSeconds: number
  readonly busySeconds: number
  /** The limit of a busy rank is longer at the start, and if it has computed for long before. */
  readonly learnsBusy: boolean
}

export type Ranks = Pick<Communicator, 'rank' | 'size' | 'localRank' | 'localSize'>

export type WorldDescription = Ranks & Pick<Communicator, 'engine' | 'reason'>

const REDUCIBLE = kind(
  'a Float32Array, Float64Array or Int32Array',
  (array): array is ReducibleArray => isFloatArray(array) || arrayTypeOf(array) === 'Int32Array',
)
const FLOATS = kind('a Float32Array or Float64Array where the wire is bfloat16', isFloatArray)
const TENSORS = kind('an array of tensors', Array.isArray)
const EXIT_CODE = where(integerFrom(1), 'an integer in 1..255', (code: number) => code <= 255)
const TENSOR_SUM_OPTIONS = { wire: optional(oneOf(['bfloat16'])) }
const ALL_REDUCE_OPTIONS = { op: optional(oneOf(['sum', 'min', 'max'])), ...TENSOR_SUM_OPTIONS }
/** With a wire. */
const SUM = optional(oneOf(['sum']))

/** What every engine has in common: checks of arguments, and of calls after `dispose`. */
export class CheckedCommunicator implements Communicator {
  readonly engine: Communicator['engine']
  readonly reason: string
  readonly rank: number
  readonly size: number
  readonly localRank: number
  readonly localSize: number
  readonly #transport: Transport
  #closing: Promise<void> | undefined

  constructor(description: WorldDescription, transport: Transport) {
    const { engine, reason, rank, size, localRank, localSize } = description
    this.engine = engine
    this.reason = reason
    this.rank = rank
    this.size = size
    this.localRank = localRank
    this.localSize = localSize
    this.#transport = transport
  }

  async allReduce(array: ReducibleArray, options: AllReduceOptions = {}): Promise<void> {
    this.#check('allReduce', { array }, { array: REDUCIBLE })
    const given = checkOptions('allReduce', options, ALL_REDUCE_OPTIONS)
    const { op = 'sum', wire } = given
    if (wire !== undefined) {
      checkArguments('allReduce', { array }, { array: FLOATS })
      checkOptionValues('allReduce', given, { op: SUM })
    }
    pinBuffer(array.buffer)
    await this.#transport.allReduce(array, op, this.#wire(wire))
  }

  tensorSum(backend: Backend): TensorSum | undefined {
    this.#check('sum tensors', { backend }, { backend: OBJECT })
    const sum = this.#transport.tensorSum?.(backend)
    if (sum === undefined) return undefined
    return async (tensors, options = {}) => {
      this.#check('sum tensors', { tensors }, { tensors: TENSORS })
      const given = checkOptions('sum tensors', options, TENSOR_SUM_OPTIONS)
      await sum(tensors, { wire: this.#wire(given.wire) })
    }
  }

  async broadcast(bytes: Uint8Array, root = 0): Promise<void> {
    const rank = where(integerFrom(0), `a rank in 0..${this.size - 1}`, (value: number) => value < this.size)
    this.#check('broadcast', { bytes, root }, { bytes: BYTES, root: rank })
    pinBuffer(bytes.buffer)
    await this.#transport.broadcast(bytes, root)
  }

  async allGather(bytes: Uint8Array): Promise<Uint8Array[]> {
    this.#check('allGather', { bytes }, { bytes: BYTES })
    pinBuffer(bytes.buffer)
    return await this.#transport.allGather(bytes)
  }

  async barrier(): Promise<void> {
    this.#check('barrier', {}, {})
    await this.#transport.barrier()
  }

  abort(reason: string, code = 1): never {
    checkArguments('abort', { reason, code }, { reason: TEXT, code: EXIT_CODE })
    return this.#transport.abort(reason, code)
  }

  dispose(): Promise<void> {
    this.#closing ??= this.#transport.close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose()
  }

  /** Over one rank nothing travels, so nothing is rounded. */
  #wire(wire: AllReduceOptions['wire']): AllReduceOptions['wire'] {
    return this.size === 1 ? undefined : wire
  }

  #check(call: string, values: Readonly<Record<string, unknown>>, rules: Parameters<typeof checkArguments>[2]): void {
    if (this.#closing !== undefined) {
      throw new CommunicatorError(
        'ERR_COMMUNICATOR_CLOSED',
        `Cannot ${call} as the communicator must be open: it was disposed`,
      )
    }
    checkArguments(call, values, rules)
  }
}
