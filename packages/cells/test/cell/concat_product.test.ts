import { addProduct } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { addToBiasGradient, CellRun, kernelsOf } from '../../src/cell/cell_run.js'
import {
  addInputGradient,
  addKernelGradients,
  addStateGradient,
  addStateSide,
  inputSide,
} from '../../src/cell/concat_product.js'
import { addTensor, checkFloatTensor, copyTensor, newArray, zeros } from '../../src/cell/float_tensor.js'
import { float32, float64 } from '../cell_checks.js'

/** Products that are counted. */
function openRun() {
  const sizes: number[][] = []
  const products = {
    addProduct(...operands: Parameters<typeof addProduct>) {
      sizes.push(operands.slice(3) as number[])
      addProduct(...operands)
    },
  }
  return { sizes, run: new CellRun('float64', true, { products, lstm: undefined }) }
}

/** Two columns of x, one of h, and three of z. */
const KERNEL = { kernel: float64([1, 2, 3, 4, 5, 6, 7, 8, 9], [3, 3]), inputSize: 2 }
const [X, H] = [Float64Array.of(1, -1, 0, 2), Float64Array.of(10, -10)]

describe('the product of [x, h] and a kernel', () => {
  it('is x·K[0:I] + b, to which h·K[I:] is added', () => {
    const { run } = openRun()
    const z = new Float64Array(6)
    inputSide(run, z, KERNEL, float64([0.5, 0, -0.5], [3]), X)
    expect([...z]).toEqual([-2.5, -3, -3.5, 8.5, 10, 11.5])
    addStateSide(run, z, 0, KERNEL, H, 0, 2)
    expect([...z]).toEqual([67.5, 77, 86.5, -61.5, -70, -78.5])
  })

  it('adds to z if there is no bias', () => {
    const { run } = openRun()
    const z = Float64Array.of(100, 0, 0, 0, 0, 0)
    inputSide(run, z, KERNEL, undefined, X)
    expect([...z]).toEqual([97, -3, -3, 8, 10, 12])
  })

  it('takes rows from their places', () => {
    const { run } = openRun()
    const z = new Float64Array(6)
    addStateSide(run, z, 3, KERNEL, H, 1, 1)
    expect([...z]).toEqual([0, 0, 0, -70, -80, -90])
  })

  it('has the gradients ∂x = ∂z·K[0:I]ᵀ and ∂h = ∂z·K[I:]ᵀ', () => {
    const { run } = openRun()
    const dz = Float64Array.of(1, 0, 0, 0, 1, -1)
    const [dx, dh] = [new Float64Array(4), Float64Array.of(0.5, 0)]
    addInputGradient(run, dx, KERNEL, dz)
    addStateGradient(run, dh, KERNEL, dz, 0, 2)
    expect([...dx]).toEqual([1, 4, -1, -1])
    expect([...dh]).toEqual([7.5, -1])
    const row = new Float64Array(1)
    addStateGradient(run, row, KERNEL, dz, 3, 1)
    expect([...row]).toEqual([-1])
  })
})

describe("CellRun's gradients of a kernel", () => {
  const dz = (...values: number[]) => Float64Array.from(values)

  it('are one product over all steps, at the end', () => {
    const { run, sizes } = openRun()
    const [kernel, bias] = [zeros('float64', [3, 3]), zeros('float64', [3])]
    addKernelGradients(run, kernel, bias, 2, Float64Array.of(1, 2), Float64Array.of(3), dz(1, 0, 0))
    addKernelGradients(run, kernel, bias, 2, Float64Array.of(4, 5), Float64Array.of(6), dz(0, 1, 1))
    expect([[...kernel.data], sizes]).toEqual([new Array(9).fill(0), []])
    expect([...bias.data]).toEqual([1, 1, 1])
    run.finishGradients()
    expect([...kernel.data]).toEqual([1, 4, 4, 2, 5, 5, 3, 6, 6])
    // Rows of x, then of h; each over both steps.
    expect(sizes).toEqual([
      [2, 3, 2],
      [1, 3, 2],
    ])
    run.finishGradients()
    expect(kernel.data[0]).toBe(1)
  })

  it('are added to the tensor for which they wait', () => {
    const { run } = openRun()
    const [first, second] = [zeros('float64', [1, 1]), float64([100], [1, 1])]
    run.addToKernelGradient(first, 0, 1, dz(2), dz(3))
    run.addToKernelGradient(second, 0, 1, dz(5), dz(7))
    run.finishGradients()
    expect([first.data[0], second.data[0]]).toEqual([6, 135])
  })

  it('sum the rows of ∂z for the bias', () => {
    const bias = float64([1, 0], [2])
    addToBiasGradient(bias, dz(1, 2, 3, 4, 5, 6))
    expect([...bias.data]).toEqual([10, 12])
  })

  it('make a value once for its owner', () => {
    const { run } = openRun()
    const [owner, other] = [{}, {}]
    let made = 0
    const make = () => dz(++made)
    expect([run.once(owner, make), run.once(owner, make), run.once(other, make)]).toEqual([dz(1), dz(1), dz(2)])
  })
})

describe('kernelsOf', () => {
  it('are those of the executor, or TypeScript where it has none', () => {
    using backend = openReferenceBackend()
    expect(kernelsOf('run', backend, 'float32').products).toBe(backend.products)
    expect(kernelsOf('run', undefined, 'float32')).toEqual({ products: { addProduct }, lstm: undefined })
    const device = { name: 'device', dtype: 'float32', products: undefined } as const
    expect(kernelsOf('run', device as never, 'float32').products.addProduct).toBe(addProduct)
    expect(() => kernelsOf('run', backend, 'float64')).toThrow(
      coded('ERR_DTYPE', { argument: 'backend', expected: 'float64', actual: 'float32' }),
    )
    expect(() => kernelsOf('run', 'cpu' as never, 'float32')).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })
})

describe('float tensors', () => {
  it('are copied with their shape, and added in place', () => {
    const given = float32([1, 2], [1, 2])
    const copy = copyTensor(given)
    addTensor(copy, given)
    expect([copy, given]).toEqual([float32([2, 4], [1, 2]), float32([1, 2], [1, 2])])
    expect(copy.shape).not.toBe(given.shape)
  })

  it('are of the dtype, or refused where the engine has no memory for them', () => {
    expect(newArray('float64', 2)).toEqual(new Float64Array(2))
    expect(zeros('float32', [])).toEqual(float32([0], []))
    expect(() => newArray('float32', 2 ** 50)).toThrow(coded('ERR_OUT_OF_MEMORY', { requestedBytes: 2 ** 52 }))
  })

  it('are host tensors: one of an executor is refused with the way to its elements', () => {
    using backend = openReferenceBackend()
    const check = (tensor: unknown) => checkFloatTensor('call a cell', 'input', tensor as never, 'float32', ['B', 2])
    expect(check(float32([1, 2], [1, 2])).shape).toEqual([1, 2])
    const message = expect.stringMatching(
      /host tensors: .* input is a backend tensor\. Pass the result of its read\(\)\.$/,
    )
    expect(() => check(backend.zeros([1, 2]))).toThrow(coded('ERR_NOT_A_TENSOR', { argument: 'input', message }))
    expect(() => check(float64([1, 2], [1, 2]))).toThrow(coded('ERR_DTYPE'))
    expect(() => check(float32([1, 2], [2, 1]))).toThrow(coded('ERR_SHAPE'))
  })
})
