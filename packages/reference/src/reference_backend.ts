import {
  type Backend,
  type BackendStats,
  type BackendTensor,
  checkIsHostTensor,
  type FloatDType,
  tensorDType,
} from '@cudnn-rnn/backend'
import {
  checkOptionNames,
  codedRangeError,
  codedTypeError,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { ReferenceDenseOps } from './reference_dense_ops.js'
import { ReferenceMemory } from './reference_memory.js'
import { ReferenceRnn } from './reference_rnn.js'
import { ReferenceTensor } from './reference_tensor.js'

export interface ReferenceBackendOptions {
  /** Element type of everything computed; default float32. */
  readonly dtype?: FloatDType | undefined
}

/**
 * Opens the reference executor: plain TypeScript on the calling thread, in Node.js and in browsers.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION` for another dtype
 * @example
 * ```ts
 * import { openReferenceBackend } from '@cudnn-rnn/reference'
 *
 * const backend = openReferenceBackend({ dtype: 'float64' })
 * const ones = backend.tensor({ data: new Float64Array(6).fill(1), shape: [2, 3] })
 * console.log((await ones.read()).shape) // [2, 3]
 * backend.dispose()
 * ```
 */
export function openReferenceBackend(options: ReferenceBackendOptions = {}): ReferenceBackend {
  checkOptionNames('open the reference backend', options, ['dtype'])
  const dtype = options.dtype ?? 'float32'
  if (dtype !== 'float32' && dtype !== 'float64') {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot open the reference backend as dtype must be float32 or float64: current value is ${String(dtype)}`,
      { option: 'dtype', value: dtype },
    )
  }
  return new ReferenceBackend(dtype)
}

/** The executor that proves the others: one file per equation, nothing native. */
export class ReferenceBackend implements Backend {
  readonly name = 'reference'
  readonly reason: string
  readonly dtype: FloatDType
  readonly ops: ReferenceDenseOps
  readonly #memory: ReferenceMemory

  constructor(dtype: FloatDType) {
    this.dtype = dtype
    this.reason = `reference: plain TypeScript, ${dtype}, one thread`
    this.#memory = new ReferenceMemory(dtype)
    this.ops = new ReferenceDenseOps(this.#memory)
  }

  tensor(host: Tensor): ReferenceTensor {
    const action = 'make a tensor'
    this.#memory.checkAlive(action)
    checkIsHostTensor(action, 'host', host)
    const dtype = tensorDType(host)
    if (dtype !== this.dtype && dtype !== 'int32') {
      throw codedTypeError(
        'ERR_DTYPE',
        `Cannot make a tensor as this executor holds ${this.dtype} and int32: current type is ${host.data.constructor.name}`,
        {
          argument: 'host',
          expected: this.dtype,
          actual: host.data.constructor.name,
        },
      )
    }
    return this.#memory.create(host.shape, host.data.slice())
  }

  zeros(shape: readonly number[], options: { readonly layout?: string | undefined } = {}): ReferenceTensor {
    const action = 'make a tensor of zeros'
    this.#memory.checkAlive(action)
    if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0)) {
      throw codedRangeError(
        'ERR_SHAPE',
        `Cannot ${action} as every dimension must be an integer >= 0: current shape is [${shape.join(',')}]`,
        { actual: shape },
      )
    }
    return this.#memory.create(shape, undefined, options.layout)
  }

  owns(tensor: BackendTensor): boolean {
    return tensor instanceof ReferenceTensor && tensor.memory === this.#memory
  }

  rnn(descriptor: RnnDescriptor): ReferenceRnn {
    this.#memory.checkAlive('prepare a network')
    return new ReferenceRnn(this.#memory, descriptor)
  }

  stats(): BackendStats {
    return this.#memory.ledger.snapshot()
  }

  dispose(): void {
    this.#memory.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
