import { DTYPES, type HostProducts } from '@cudnn-rnn/ops'
import type { MatrixView } from '../host/matrix_product.js'
import { addProduct } from '../host/matrix_product.js'
import type { KernelExecutor } from './kernel_executor.js'

/** Up to this many multiply-adds, TypeScript finishes before the kernels have read their arguments. */
export const SMALL_PRODUCT = 4096

/** Products of matrices by the kernels, computed while the caller waits. */
export function kernelProducts({ memory, operations }: KernelExecutor): HostProducts {
  const { array } = DTYPES[memory.dtype]
  return {
    addProduct(c, a, b, m, n, k) {
      memory.life.check('multiply matrices')
      const isOwn = [a, b, c].every(({ data }) => data instanceof array)
      if (!isOwn || c.columnStride !== 1 || m * n * k <= SMALL_PRODUCT) return addProduct(c, a, b, m, n, k)
      const layout = Float64Array.of(...layoutOf(c, a, b), m, n, k)
      return operations.addProduct({ c: c.data, a: a.data, b: b.data, layout })
    },
  }
}

/** Offset, row stride and column stride of each. */
export function layoutOf(...views: readonly MatrixView[]): number[] {
  return views.flatMap(({ offset, rowStride, columnStride }) => [offset, rowStride, columnStride])
}
