import { checkOptions, type OptionsOf, oneOf, optional } from '@cudnn-rnn/canonical/rules'
import { addProduct, HostBackend, HostMemory } from '@cudnn-rnn/ops/executor'
import { referenceKernels } from './reference_kernels.js'
import { ReferenceRnn } from './reference_rnn.js'

const OPTIONS = {
  /** Element type of everything computed; default float32. */
  dtype: optional(oneOf(['float32', 'float64'])),
}

/** Options of {@link openReferenceBackend}. */
export interface ReferenceBackendOptions extends OptionsOf<typeof OPTIONS> {}

/** The oracle of the other executors: one file per equation, without native code. */
export type ReferenceBackend = HostBackend<ReferenceRnn>

/**
 * Opens the reference executor: plain TypeScript on the calling thread, in Node.js and in browsers.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION` for another dtype
 * @example
 * ```ts
 * import { openReferenceBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = openReferenceBackend({ dtype: 'float64' })
 * const ones = backend.tensor({ data: new Float64Array(6).fill(1), shape: [2, 3] })
 * console.log((await ones.read()).shape) // [2, 3]
 * backend.dispose()
 * ```
 */
export function openReferenceBackend(options: ReferenceBackendOptions = {}): ReferenceBackend {
  const { dtype = 'float32' } = checkOptions('open the reference backend', options, OPTIONS)
  const memory = new HostMemory(dtype)
  return new HostBackend({
    name: 'reference',
    reason: `reference: plain TypeScript, ${dtype}, one thread`,
    memory,
    kernels: referenceKernels(memory),
    products: {
      addProduct(...operands) {
        memory.life.check('multiply matrices')
        addProduct(...operands)
      },
    },
    prepare: (descriptor) => new ReferenceRnn(memory, descriptor),
  })
}
