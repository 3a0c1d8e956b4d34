import { describe, expect, it } from 'vitest'
import { linear, linearGradients } from '../../../src/executor/host/linear.js'

const SIZES = { rows: 2, inputs: 3, outputs: 2 }
const [x, kernel, bias] = [
  Float64Array.of(1, 2, 3, -1, 0, 4),
  Float64Array.of(1, 2, 3, 4, 5, 6),
  Float64Array.of(10, 20),
]

describe('linear and linearGradients', () => {
  it('y = x·kernel + bias overwrites y', () => {
    const y = new Float64Array(4).fill(9)
    linear([y], [x, kernel, bias], SIZES)
    expect([...y]).toEqual([32, 48, 29, 42])
  })

  it('adds the gradients to the present values', () => {
    const [dInput, dKernel, dBias] = [new Float64Array(6).fill(100), new Float64Array(6), Float64Array.of(1, 0)]
    linearGradients([dInput, dKernel, dBias], [x, kernel, Float64Array.of(1, 0, 0, 2)], SIZES)
    expect([...dInput]).toEqual([101, 103, 105, 104, 108, 112])
    expect([...dKernel]).toEqual([1, -2, 2, 0, 3, 8])
    expect([...dBias]).toEqual([2, 2])
  })
})
