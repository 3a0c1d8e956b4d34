import { DTYPES, type HostProducts, type MatrixView } from '@cudnn-rnn/backend'
import { addProduct } from '@cudnn-rnn/executor-kit'
import type { CpuExecutor } from './cpu_executor.js'

/** Up to this many multiply-adds TypeScript is done before the addon has read its arguments. */
const SMALL_PRODUCT = 4096

/** Products of matrices in C++, computed while the caller waits. */
export class CpuProducts implements HostProducts {
  readonly #executor: CpuExecutor

  constructor(executor: CpuExecutor) {
    this.#executor = executor
  }

  addProduct(c: MatrixView, a: MatrixView, b: MatrixView, m: number, n: number, k: number): void {
    const { memory, native } = this.#executor
    memory.life.check('multiply matrices')
    const { array } = DTYPES[memory.dtype]
    const isOwn = [a, b, c].every(({ data }) => data instanceof array)
    if (!isOwn || c.columnStride !== 1 || m * n * k <= SMALL_PRODUCT) {
      addProduct(c, a, b, m, n, k)
      return
    }
    native.addProduct({ c: c.data, a: a.data, b: b.data, layout: Float64Array.of(...layoutOf(c, a, b), m, n, k) })
  }
}

/** Offset, row stride and column stride of each. */
function layoutOf(...views: readonly MatrixView[]): number[] {
  return views.flatMap(({ offset, rowStride, columnStride }) => [offset, rowStride, columnStride])
}
