import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { checkSelection, selectedCanonical } from '../../../src/executor/index.js'

const descriptor = createRnnDescriptor({ cellMode: 'rnn_tanh', numLayers: 1, numUnits: 2, inputSize: 3 })

describe('selectedCanonical', () => {
  it('reads the regions of the selection, numbered weights first, and gives empty tensors for the others', () => {
    const read: string[] = []
    const { weights, biases } = selectedCanonical(
      descriptor,
      new Set([1, 2]),
      new Float64Array(1),
      ({ size }, kind, index) => {
        read.push(`${kind} ${index}`)
        return new Float64Array(size).fill(7)
      },
    )
    expect(read).toEqual(['weights 1', 'biases 0'])
    expect(weights).toEqual([
      { data: new Float64Array(0), shape: [0] },
      { data: Float64Array.of(7, 7, 7, 7), shape: [2, 2] },
    ])
    expect(biases).toEqual([
      { data: Float64Array.of(7, 7), shape: [2] },
      { data: new Float64Array(0), shape: [0] },
    ])
  })

  it('reads all without a selection', () => {
    const { weights, biases } = selectedCanonical(
      descriptor,
      undefined,
      new Float32Array(0),
      ({ size }) => new Float32Array(size),
    )
    expect([...weights, ...biases].map(({ shape }) => shape)).toEqual([[2, 3], [2, 2], [2], [2]])
  })
})

it('checkSelection refuses anything but a Set', () => {
  expect(() => checkSelection('convert', undefined)).not.toThrow()
  expect(() => checkSelection('convert', new Set([1]))).not.toThrow()
  for (const selection of [[1], 1, null]) {
    expect(() => checkSelection('convert', selection as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  }
})
