import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openReferenceBackend } from '../src/index.js'

describe('openReferenceBackend', () => {
  it('opens float32 by default and float64 by name, and reports the type', () => {
    expect(openReferenceBackend()).toMatchObject({ name: 'reference', dtype: 'float32' })
    expect(openReferenceBackend({ dtype: 'float64' }).reason).toContain('float64')
  })

  it('refuses other element types and unknown options', () => {
    expect(() => openReferenceBackend({ dtype: 'float16' as never })).toThrow(coded('ERR_INVALID_OPTION'))
    expect(() => openReferenceBackend({ dType: 'float64' } as never)).toThrow(
      coded('ERR_UNKNOWN_OPTION', { suggestion: 'dtype' }),
    )
  })
})

describe('ReferenceBackend', () => {
  it('copies host tensors in and reads without a copy', async () => {
    const backend = openReferenceBackend()
    const host = { data: Float32Array.of(1, 2), shape: [2] }
    const tensor = backend.tensor(host)
    host.data[0] = 9
    const first = await tensor.read()
    expect([...first.data]).toEqual([1, 2])
    expect((await tensor.read()).data).toBe(first.data)
  })

  it('refuses tensors of another dtype, of other executors, and shapes that do not fit', () => {
    const backend = openReferenceBackend()
    expect(() => backend.tensor({ data: new Float64Array(2), shape: [2] })).toThrow(coded('ERR_DTYPE'))
    expect(() => backend.tensor({ data: new Float32Array(2), shape: [3] })).toThrow(coded('ERR_SHAPE'))
    expect(() => backend.tensor([1, 2] as never)).toThrow(coded('ERR_NOT_A_TENSOR'))
    const foreign = openReferenceBackend().zeros([2])
    expect(() => backend.ops.accumulate(backend.zeros([2]), foreign)).toThrow(coded('ERR_FOREIGN_TENSOR'))
  })

  it('counts live objects, and none after everything was disposed', async () => {
    const backend = openReferenceBackend()
    const rnn = backend.rnn(
      createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 3, inputSize: 2, dropout: 0.5 }),
    )
    const params = backend.zeros([rnn.paramsSize])
    const input = { data: new Float32Array(8), shape: [2, 2, 2] }
    const run = await rnn.forward({ input, inputH: null, inputC: null, params, sequenceLengths: null, training: true })
    expect(backend.stats()).toMatchObject({ tensors: 4, tapes: 1, rnns: 1 })
    expect(backend.stats().bytes).toBeGreaterThan(0)
    for (const resource of [run.output, run.outputH, run.outputC, run.tape, params, rnn]) resource?.dispose()
    expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
  })

  it('clips no tensor where the elements of another were transferred', async () => {
    const backend = openReferenceBackend()
    const tensors = [3, -4].map((value) => backend.tensor({ data: Float32Array.of(value), shape: [1] }))
    const [first, second] = await Promise.all(tensors.map((tensor) => tensor.read()))
    structuredClone(second.data, { transfer: [second.data.buffer as ArrayBuffer] })
    const refusal = coded('ERR_TENSOR_TRANSFERRED')
    expect(() => backend.ops.clipByValue(tensors, 1)).toThrow(refusal)
    expect(() => backend.ops.clipByGlobalNorm(tensors, 1)).toThrow(refusal)
    expect([...first.data]).toEqual([3])
    expect(tensors.map(({ version }) => version)).toEqual([0, 0])
  })

  it('refuses everything after dispose()', () => {
    const backend = openReferenceBackend()
    const tensor = backend.zeros([1])
    backend.dispose()
    backend.dispose()
    expect(tensor.disposed).toBe(true)
    expect(() => backend.zeros([1])).toThrow(coded('ERR_BACKEND_DISPOSED'))
    expect(() => backend.ops.globalNorm([tensor])).toThrow(coded('ERR_BACKEND_DISPOSED'))
  })
})
