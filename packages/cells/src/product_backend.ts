import type { Backend, FloatDType, HostProducts } from '@cudnn-rnn/backend'
import { checkIsObject, codedTypeError } from '@cudnn-rnn/canonical'
import { addProduct } from '@cudnn-rnn/executor-kit'

/** An executor whose products cells use: any `Backend`. */
export type ProductBackend = Pick<Backend, 'name' | 'dtype' | 'products'>

const TYPESCRIPT: HostProducts = { addProduct }

/**
 * The products that a run uses: the executor's where it has some, else those in TypeScript.
 *
 * @throws TypeError `ERR_INVALID_OPTION_TYPE`, `ERR_DTYPE` for an executor of another dtype
 */
export function productsOf(action: string, backend: ProductBackend | undefined, dtype: FloatDType): HostProducts {
  if (backend === undefined) return TYPESCRIPT
  checkIsObject(action, 'backend', backend)
  if (backend.dtype !== dtype) {
    throw codedTypeError(
      'ERR_DTYPE',
      `Cannot ${action} as the backend must have the cell's dtype ${dtype}: current dtype is ${backend.dtype}`,
      { argument: 'backend', expected: dtype, actual: backend.dtype },
    )
  }
  return backend.products ?? TYPESCRIPT
}
