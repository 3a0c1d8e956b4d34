import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it, vi } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CudnnGRU, CudnnLSTM, type SharedParams } from '../src/index.js'
import { floats, valuesOf } from './small_models.js'

const SIZES = { numLayers: 1, numUnits: 3, inputSize: 2 }
const open = (dtype: 'float32' | 'float64' = 'float32') => new CudnnLSTM(openReferenceBackend({ dtype }), SIZES)

describe('shared parameters', () => {
  it.each(['float32', 'float64'] as const)('are read by another executor of %s where they lie', async (dtype) => {
    const [mine, theirs] = [open(dtype), open(dtype)]
    const params = mine.createParams({ seed: 1, name: 'vad/kernel' })
    const handle = structuredClone(await mine.shareParams(params))
    expect(handle.elements.buffer).toBeInstanceOf(SharedArrayBuffer)
    const opened = theirs.sharedParams(handle)
    expect(opened.name).toBe('vad/kernel')
    expect(await valuesOf(opened.value)).toEqual(await valuesOf(params.value))
    const ArrayOf = dtype === 'float32' ? Float32Array : Float64Array
    const x = floats<Float32Array | Float64Array>(ArrayOf as never, 1, 2)
    const expected = mine.stream(params).stepSync(x).data
    expect(theirs.stream(opened).stepSync(x).data).toEqual(expected)
    // Nothing was copied: a change of the elements is seen by a stream that is opened afterwards.
    handle.elements.fill(0)
    expect([...theirs.stream(opened).stepSync(x).data]).toEqual([0, 0, 0])
    expect([...mine.stream(params).stepSync(x).data]).toEqual([...expected])
  })

  it('have an identity where the platform has no WebCrypto', async () => {
    vi.stubGlobal('crypto', undefined)
    try {
      const lstm = open()
      const params = lstm.createParams({ seed: 1 })
      const ids = await Promise.all([1, 2].map(async () => (await lstm.shareParams(params)).id))
      expect(new Set(ids).size).toBe(2)
    } finally {
      vi.unstubAllGlobals()
    }
  })

  it('are read-only', async () => {
    const lstm = open()
    const { backend } = lstm
    const shared = lstm.sharedParams(await lstm.shareParams(lstm.createParams({ seed: 1 })))
    const before = await valuesOf(shared.value)
    const gradient = { data: new Float32Array(lstm.paramsSize()).fill(1), shape: [lstm.paramsSize()] }
    const writes = [
      () => shared.assign(gradient),
      () => backend.ops.update('sgd', shared.value, [], gradient, { learningRate: 1 }),
      () => backend.ops.accumulate(shared.value, gradient),
      () => backend.ops.clipByValue([shared.value], 0.01),
      () => backend.ops.clipByGlobalNorm([shared.value], 0.01),
    ]
    for (const write of writes) expect(write).toThrow(coded('ERR_SHARED_TENSOR', { name: 'RangeError' }))
    const { data } = await shared.value.read()
    data.fill(5)
    expect(await valuesOf(shared.value)).toEqual(before)
    expect((await valuesOf(backend.ops.globalNorm([shared.value]) as never))[0]).toBeGreaterThan(0)
  })

  it('can be trained by a copy', async () => {
    const lstm = open()
    const shared = lstm.sharedParams(await lstm.shareParams(lstm.createParams({ seed: 1 })))
    const copy = lstm.createSlot('copy')
    copy.assign(shared.value)
    copy.assign({ data: new Float32Array(lstm.paramsSize()), shape: [lstm.paramsSize()] })
    expect((await valuesOf(shared.value)).some((value) => value !== 0)).toBe(true)
  })

  it('are copied where the executor computes in its own memory', async () => {
    const lstm = open()
    const handle = await lstm.shareParams(lstm.createParams({ seed: 1 }))
    const elsewhere = openReferenceBackend()
    Object.defineProperty(elsewhere, 'shared', { value: undefined })
    const model = new CudnnLSTM(elsewhere, SIZES)
    const opened = model.sharedParams(handle)
    expect(await valuesOf(opened.value)).toEqual([...handle.elements])
    opened.assign({ data: new Float32Array(lstm.paramsSize()), shape: [lstm.paramsSize()] })
    expect(handle.elements.some((value) => value !== 0)).toBe(true)
    const again = await model.shareParams(model.createParams({ seed: 1 }))
    expect(again.elements).toEqual(handle.elements)
    expect(again.elements.buffer).toBeInstanceOf(SharedArrayBuffer)
  })

  it('are refused by an executor with another order of opaque buffers', async () => {
    const lstm = open()
    const handle = await lstm.shareParams(lstm.createParams({ seed: 1 }))
    const backend = openReferenceBackend()
    Object.defineProperty(backend, 'opaqueOrder', { value: 'chunks' })
    const other = new CudnnLSTM(backend, SIZES)
    const refused = coded('ERR_SHARED_PARAMS', { name: 'RangeError' })
    expect(() => other.sharedParams(handle)).toThrow(refused)
    const ordered = await other.shareParams(other.createParams({ seed: 1 }))
    expect(ordered.executor).toBe('reference, order of chunks')
    expect(() => lstm.sharedParams(ordered)).toThrow(refused)
    expect(await valuesOf(other.sharedParams(ordered).value)).toEqual([...ordered.elements])
  })

  it('are refused with a code where the handle does not fit', async () => {
    const lstm = open()
    const handle = await lstm.shareParams(lstm.createParams({ seed: 1 }))
    const refused = (changed: unknown, code: string, name: string) =>
      expect(() => lstm.sharedParams(changed as SharedParams)).toThrow(coded(code, { name }))
    for (const other of [undefined, null, 7, {}, lstm.createParams()]) refused(other, 'ERR_SHARED_PARAMS', 'TypeError')
    refused(JSON.parse(JSON.stringify(handle)), 'ERR_SHARED_PARAMS', 'TypeError')
    refused({ ...handle, elements: handle.elements.slice() }, 'ERR_SHARED_PARAMS', 'TypeError')
    refused({ ...handle, elements: handle.elements.subarray(1) }, 'ERR_SHARED_PARAMS', 'TypeError')
    refused({ ...handle, id: 7 }, 'ERR_SHARED_PARAMS', 'TypeError')
    refused({ ...handle, executor: 'cpu' }, 'ERR_SHARED_PARAMS', 'RangeError')
    refused({ ...handle, dtype: 'float64' }, 'ERR_SHARED_PARAMS', 'RangeError')
    const gru = new CudnnGRU(lstm.backend, SIZES)
    refused(await gru.shareParams(gru.createParams()), 'ERR_OTHER_LAYOUT', 'RangeError')
    const other = lstm.createParams()
    other.dispose()
    await expect(lstm.shareParams(other)).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    // @ts-expect-error: a GRU's parameters
    await expect(lstm.shareParams(gru.createParams())).rejects.toThrow(coded('ERR_OTHER_LAYOUT'))
    await expect(lstm.shareParams(open().createParams())).rejects.toThrow(coded('ERR_FOREIGN_TENSOR'))
    lstm.backend.dispose()
    refused(handle, 'ERR_BACKEND_DISPOSED', 'RangeError')
  })
})
