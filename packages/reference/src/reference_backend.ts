import type { FloatDType } from '@cudnn-rnn/backend'
import { checkOptionNames, describeValue } from '@cudnn-rnn/canonical'
import { addProduct, HostBackend, HostMemory } from '@cudnn-rnn/executor-kit'
import { codedRangeError } from './coded_error.js'
import { ReferenceDenseKernels } from './reference_dense_kernels.js'
import { ReferenceRnn } from './reference_rnn.js'

export interface ReferenceBackendOptions {
  /** Element type of everything computed; default float32. */
  readonly dtype?: FloatDType | undefined
}

/** The oracle of the other executors: one file per equation, without native code. */
export type ReferenceBackend = HostBackend<ReferenceRnn>

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
      `Cannot open the reference backend as dtype must be float32 or float64: current value is ${describeValue(dtype)}`,
      { option: 'dtype', value: dtype },
    )
  }
  const memory = new HostMemory(dtype)
  return new HostBackend({
    name: 'reference',
    reason: `reference: plain TypeScript, ${dtype}, one thread`,
    memory,
    kernels: new ReferenceDenseKernels(memory),
    products: {
      addProduct(...operands) {
        memory.life.check('multiply matrices')
        addProduct(...operands)
      },
    },
    prepare: (descriptor) => new ReferenceRnn(memory, descriptor),
  })
}
