import { checkIsObject, codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { Backend, FloatDType, HostLstm, HostProducts } from '@cudnn-rnn/ops'
import { addProduct } from '@cudnn-rnn/ops/executor'

/** An executor whose products, and recurrence of LSTMs, cells use: any `Backend`. */
export type ProductBackend = Pick<Backend, 'name' | 'dtype' | 'products' | 'lstm'>

export interface HostKernels {
  readonly products: HostProducts
  /** Undefined: the recurrence of LSTMs is computed in TypeScript. */
  readonly lstm: HostLstm | undefined
}

const TYPESCRIPT: HostProducts = { addProduct }

/**
 * The kernels that a run uses: the executor's if it has some, else those in TypeScript.
 *
 * @throws TypeError `ERR_INVALID_OPTION_TYPE`, `ERR_DTYPE` for an executor of another dtype
 */
export function kernelsOf(action: string, backend: ProductBackend | undefined, dtype: FloatDType): HostKernels {
  if (backend === undefined) return { products: TYPESCRIPT, lstm: undefined }
  checkIsObject(action, 'backend', backend)
  if (backend.dtype !== dtype) {
    throw codedTypeError(
      'ERR_DTYPE',
      `Cannot ${action} as the backend must have the cell's dtype ${dtype}: current dtype is ${backend.dtype}`,
      { argument: 'backend', expected: dtype, actual: backend.dtype },
    )
  }
  return { products: backend.products ?? TYPESCRIPT, lstm: backend.lstm }
}
