import type { FloatArray } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { matrix, transposed } from '../../../src/executor/index.js'
import { openNotingExecutor } from './noting_executor.js'

/** C [m,n] of zeros, A [m,k] and B [k,n] of ones. */
const operands = (m: number, n: number, k: number, array: new (length: number) => FloatArray = Float32Array) => {
  const [c, a, b] = [new array(m * n), new array(m * k).fill(1), new array(k * n).fill(1)]
  return { c, a, b, views: [matrix(c, n), matrix(a, k), matrix(b, n), m, n, k] as const }
}

describe('kernelProducts', () => {
  it('leaves small products to TypeScript, and gives larger ones to the kernels', () => {
    const { backend, jobs } = openNotingExecutor()
    const small = operands(16, 16, 16)
    backend.products.addProduct(...small.views)
    expect(jobs).toEqual([])
    expect(small.c.every((value) => value === 16)).toBe(true)
    const { c, a, b, views } = operands(16, 16, 17)
    backend.products.addProduct(...views)
    expect(jobs).toMatchObject([{ name: 'addProduct', job: { c, a, b } }])
    expect([...jobs[0].job.layout]).toEqual([0, 16, 1, 0, 17, 1, 0, 16, 1, 16, 16, 17])
  })

  it('gives the kernels the strides of transposed operands and their offsets', () => {
    const { backend, jobs } = openNotingExecutor()
    const [c, a, b] = [new Float32Array(3 + 20 * 20), new Float32Array(20 * 20), new Float32Array(5 + 20 * 20)]
    backend.products.addProduct(matrix(c, 20, 3), transposed(matrix(a, 20)), matrix(b, 20, 5), 20, 20, 20)
    expect([...jobs[0].job.layout]).toEqual([3, 20, 1, 0, 1, 20, 5, 20, 1, 20, 20, 20])
  })

  it('computes other element types, and a C whose columns are not adjacent, in TypeScript', () => {
    const { backend, jobs } = openNotingExecutor()
    const wide = operands(20, 20, 20, Float64Array)
    backend.products.addProduct(...wide.views)
    expect(wide.c.every((value) => value === 20)).toBe(true)
    const { c, a, b } = operands(20, 20, 20)
    backend.products.addProduct(transposed(matrix(c, 20)), matrix(a, 20), matrix(b, 20), 20, 20, 20)
    expect(c.every((value) => value === 20)).toBe(true)
    expect(jobs).toEqual([])
  })

  it('is refused once the executor was disposed', () => {
    const { backend } = openNotingExecutor()
    backend.dispose()
    const { c, views } = operands(2, 2, 2)
    expect(() => backend.products.addProduct(...views)).toThrow(coded('ERR_BACKEND_DISPOSED'))
    expect([...c]).toEqual([0, 0, 0, 0])
  })
})
