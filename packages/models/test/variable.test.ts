import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CudnnGRU, CudnnLSTM } from '../src/index.js'
import { valuesOf } from './small_models.js'

const SIZES = { numLayers: 1, numUnits: 3, inputSize: 2 }

describe('Variable.assign', () => {
  it('copies into the same tensor', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const [first, second] = [lstm.createParams({ seed: 1 }), lstm.createParams({ seed: 2 })]
    const { value } = first
    first.assign(second.value)
    expect(first.value).toBe(value)
    expect(await valuesOf(first.value)).toEqual(await valuesOf(second.value))
  })

  it('refuses a value of another shape and keeps its own', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const params = lstm.createParams({ seed: 1 })
    const before = await valuesOf(params.value)
    const size = lstm.paramsSize()
    expect(() => params.assign({ data: new Float32Array(size - 1), shape: [size - 1] })).toThrow(coded('ERR_SHAPE'))
    expect(() => params.assign({ data: new Float64Array(size), shape: [size] })).toThrow(coded('ERR_DTYPE'))
    // 1 layer of 4·H·(I+H)+8·H elements: a GRU of other sizes can be as long.
    const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 2, inputSize: 8 })
    expect(gru.paramsSize()).not.toBe(size)
    const sameLength = backend.zeros([size], { layout: gru.createParams().value.layout })
    expect(() => params.assign(sameLength)).toThrow(coded('ERR_OTHER_LAYOUT'))
    expect(await valuesOf(params.value)).toEqual(before)
  })
})

describe('createParams', () => {
  it('draws glorot uniform for every canonical tensor separately, the same from the same seed', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, { numLayers: 2, numUnits: 64, inputSize: 16 })
    const { weights } = await lstm.paramsToCanonical(lstm.createParams({ seed: 9 }))
    for (const { data, shape } of weights) {
      const limit = Math.sqrt(6 / (shape[0] + shape[1]))
      const largest = Math.max(...[...data].map(Math.abs))
      expect(largest).toBeLessThanOrEqual(limit)
      expect(largest).toBeGreaterThan(0.97 * limit)
    }
    const values = async (seed: number) => valuesOf(lstm.createParams({ seed }).value)
    expect(await values(9)).toEqual(await values(9))
    expect(await values(9)).not.toEqual(await values(10))
  })

  it('draws orthonormal matrices, whichever side is longer', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const lstm = new CudnnLSTM(backend, { numLayers: 2, numUnits: 5, inputSize: 8, numProj: 3 })
    const { weights } = await lstm.paramsToCanonical(lstm.createParams({ kernelInitializer: 'orthogonal' }))
    for (const { data, shape } of weights) {
      const [rows, columns] = shape as [number, number]
      const vectors = Array.from({ length: Math.min(rows, columns) }, (_, v) =>
        Array.from(
          { length: Math.max(rows, columns) },
          (_, k) => data[rows <= columns ? v * columns + k : k * columns + v],
        ),
      )
      for (const [i, a] of vectors.entries()) {
        for (const [j, b] of vectors.entries()) {
          expect(a.reduce((sum, value, k) => sum + value * b[k], 0)).toBeCloseTo(i === j ? 1 : 0, 12)
        }
      }
    }
  })

  it('refuses forgetBias for a cell without a forget gate', () => {
    const gru = new CudnnGRU(openReferenceBackend(), { numLayers: 1, numUnits: 3, inputSize: 2 })
    expect(() => gru.createParams({ forgetBias: 1 })).toThrow(
      coded('ERR_NOT_LSTM', { option: 'forgetBias', cellMode: 'gru' }),
    )
  })

  it('adds forgetBias to the input side of the forget gate alone', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const { biases } = await lstm.paramsToCanonical(lstm.createParams({ forgetBias: 1 }))
    expect(biases.map(({ data }) => data[0])).toEqual([0, 1, 0, 0, 0, 0, 0, 0])
  })

  it('takes a function of the region, and rejects other values', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const params = lstm.createParams({ kernelInitializer: (values, { linLayerId }) => void values.fill(linLayerId) })
    const { weights } = await lstm.paramsToCanonical(params)
    expect(weights.map(({ data }) => data[0])).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    expect(() => lstm.createParams({ kernelInitializer: 'he_normal' as never })).toThrow(coded('ERR_INVALID_OPTION'))
    const message = /forgetBias must be a finite number: current value is/
    for (const [forgetBias, code] of [
      [Number.NaN, 'ERR_INVALID_OPTION'],
      ['one', 'ERR_INVALID_OPTION_TYPE'],
    ] as const) {
      expect(() => lstm.createParams({ forgetBias } as never)).toThrow(
        coded(code, { message: expect.stringMatching(message) }),
      )
    }
    expect(() => lstm.createParams({ sed: 1 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION', { suggestion: 'seed' }))
  })
})
