import { collectGarbage } from '@cudnn-rnn/conformance/collect_garbage'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import type { CudnnBackend } from '../src/cudnn_backend.js'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`tensors in device memory (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => {
    expect(libraries.report().violations).toEqual([])
    libraries.configure('reset')
  })
  const deviceBytes = () => libraries.report().live['device bytes']
  const pair = { data: Float32Array.of(1, 2), shape: [2] }
  const read = async (tensor: { read(): Promise<{ data: ArrayLike<number> }> }) => [
    ...Array.from((await tensor.read()).data),
  ]

  it('are read as they were at the call, also if they are written or disposed behind it', async () => {
    await using backend = await open()
    const tensor = backend.tensor(pair)
    await read(tensor)
    libraries.configure('slow=500')
    const before = read(tensor)
    backend.ops.assign(tensor, { data: Float32Array.of(3, 4), shape: [2] })
    const after = read(tensor)
    tensor.dispose()
    libraries.configure('slow=0')
    expect(await before).toEqual([1, 2])
    expect(await after).toEqual([3, 4])
  })

  it('copy the elements of a part of an array at the call, of every element type', async () => {
    for (const dtype of ['float32', 'float64'] as const) {
      await using backend = await open({ dtype })
      const FloatArray = dtype === 'float32' ? Float32Array : Float64Array
      for (const part of [
        FloatArray.of(9, 1, 2, 9).subarray(1, 3),
        Int32Array.of(9, -1, 2 ** 31 - 1, 9).subarray(1, 3),
      ]) {
        const expected = [...part]
        const tensor = backend.tensor({ data: part, shape: [1, 2] })
        part.fill(7)
        const copy = await tensor.read()
        expect(copy.data).toEqual(
          part.constructor === Int32Array ? Int32Array.from(expected) : FloatArray.from(expected),
        )
        expect(copy.shape).toEqual([1, 2])
        expect(tensor.bytes).toBe(2 * part.BYTES_PER_ELEMENT)
        // Each read makes another array.
        copy.data.fill(5)
        expect(await read(tensor)).toEqual(expected)
      }
    }
  })

  it('keep their shape where the array of the caller changes', async () => {
    await using backend = await open()
    const shape = [1, 2]
    const tensor = backend.tensor({ data: pair.data, shape })
    const zeros = backend.zeros(shape)
    shape[0] = 1000
    shape.push(7)
    for (const made of [tensor, zeros]) {
      expect(made.shape).toEqual([1, 2])
      expect(Object.isFrozen(made.shape)).toBe(true)
      expect((await made.read()).shape).toEqual([1, 2])
    }
  })

  it('without elements have no bytes and can be read, written and disposed', async () => {
    await using backend = await open()
    const none = backend.zeros([3, 0])
    expect(await none.read()).toEqual({ data: new Float32Array(0), shape: [3, 0] })
    backend.ops.assign(none, { data: new Float32Array(0), shape: [3, 0] })
    expect(backend.stats()).toMatchObject({ tensors: 1, bytes: 0 })
    none.dispose()
    expect(backend.stats()).toMatchObject({ tensors: 0, bytes: 0 })
  })

  it('are counted by their bytes until they are disposed, which counts once', async () => {
    await using backend = await open()
    const [scalar, matrix] = [backend.zeros([]), backend.zeros([3, 5])]
    const ids = backend.tensor({ data: Int32Array.of(1, 2, 3), shape: [3] })
    expect(backend.stats()).toMatchObject({ tensors: 3, bytes: 4 + 60 + 12 })
    matrix.dispose()
    matrix.dispose()
    matrix[Symbol.dispose]()
    expect(backend.stats()).toMatchObject({ tensors: 2, bytes: 16 })
    expect([scalar, matrix, ids].map(({ disposed }) => disposed)).toEqual([false, true, false])
  })

  it('that are disposed give their memory to the next tensor of the size', async () => {
    await using backend = await open()
    const once = async () => {
      const tensor = backend.zeros([1000])
      await tensor.read()
      const bytes = deviceBytes()
      tensor.dispose()
      return bytes
    }
    const first = await once()
    for (let round = 0; round < 5; round++) expect(await once()).toBe(first)
  })

  it('refuse to be read after they or their executor were disposed', async () => {
    const backend = await open()
    const [early, late] = [backend.tensor(pair), backend.tensor(pair)]
    early.dispose()
    await expect(early.read()).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    expect(() => backend.ops.assign(early, pair)).toThrow(coded('ERR_TENSOR_DISPOSED'))
    expect(() => backend.ops.assign(late, early)).toThrow(coded('ERR_TENSOR_DISPOSED'))
    expect(await read(late)).toEqual([1, 2])
    await backend.close()
    expect(late.disposed).toBe(true)
    await expect(late.read()).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    late.dispose()
    expect(backend.stats().tensors).toBe(0)
  })

  it('belong to the executor that made them, and no copy or proxy of one does', async () => {
    await using backend = await open()
    await using other = await open()
    using reference = openReferenceBackend()
    const tensor = backend.tensor(pair)
    expect(backend.owns(tensor)).toBe(true)
    const copies = [
      new Proxy(tensor, {}),
      Object.create(tensor),
      { ...tensor },
      other.tensor(pair),
      reference.tensor(pair),
    ]
    for (const copy of copies) expect(backend.owns(copy)).toBe(false)
    expect(other.owns(tensor)).toBe(false)
    expect(() => structuredClone(tensor)).toThrow(expect.objectContaining({ name: 'DataCloneError' }))
    expect(() => other.ops.assign(other.zeros([2]), tensor)).toThrow(coded('ERR_FOREIGN_TENSOR'))
  })

  it.each<[string, string, (backend: CudnnBackend) => unknown]>([
    ['a shape of other elements', 'ERR_SHAPE', (backend) => backend.tensor({ data: pair.data, shape: [3] })],
    ['a negative dimension', 'ERR_SHAPE', (backend) => backend.zeros([-1])],
    ['a dimension of a part', 'ERR_SHAPE', (backend) => backend.zeros([1.5])],
    ['more bytes than an integer can count', 'ERR_OUT_OF_MEMORY', (backend) => backend.zeros([2 ** 40, 2 ** 40])],
    ['an unknown option', 'ERR_UNKNOWN_OPTION', (backend) => backend.zeros([1], { dtype: 'int32' } as never)],
    ['numbers of another type', 'ERR_DTYPE', (backend) => backend.tensor({ data: new Float64Array(2), shape: [2] })],
    ['an array of numbers', 'ERR_NOT_A_TENSOR', (backend) => backend.tensor({ data: [1, 2], shape: [2] } as never)],
    ['a tensor of the executor', 'ERR_NOT_A_TENSOR', (backend) => backend.tensor(backend.zeros([2]) as never)],
    [
      'a buffer that was transferred',
      'ERR_',
      (backend) => {
        const data = new Float32Array(2)
        structuredClone(data.buffer, { transfer: [data.buffer] })
        return backend.tensor({ data, shape: [2] })
      },
    ],
  ])('are not made of %s', async (_, code, make) => {
    await using backend = await open()
    const before = libraries.report().calls['cudaMallocAsync']
    expect(() => make(backend)).toThrow(expect.objectContaining({ code: expect.stringMatching(`^${code}`) }))
    await read(backend.zeros([1]))
    // The tensor above, and the argument of one case.
    expect(libraries.report().calls['cudaMallocAsync'] - before).toBeLessThanOrEqual(2)
  })

  it('without references are freed by the garbage collector', async () => {
    await using backend = await open()
    const kept = backend.tensor(pair)
    await read(kept)
    const before = deviceBytes()
    // In a separate function, so that no variable of this one has them.
    await (async () => {
      const dropped = Array.from({ length: 20 }, () => backend.zeros([1000]))
      await Promise.all(dropped.map((tensor) => tensor.read()))
    })()
    expect(backend.stats().tensors).toBe(21)
    for (let round = 0; round < 20 && backend.stats().tensors > 1; round++) await collectGarbage()
    expect(backend.stats()).toMatchObject({ tensors: 1, bytes: 8 })
    expect(await read(kept)).toEqual([1, 2])
    await backend.trimMemory()
    expect(deviceBytes()).toBe(before)
  })

  it('of thousands in one turn of the event loop are all freed, and those that stay keep their values', async () => {
    await using backend = await open()
    const kept = []
    for (let k = 0; k < 5000; k++) {
      const tensor = backend.tensor({ data: Float32Array.of(k), shape: [] })
      if (k % 1000 === 0) kept.push(tensor)
      else tensor.dispose()
    }
    expect(backend.stats()).toMatchObject({ tensors: 5, bytes: 20 })
    expect(await Promise.all(kept.map(read))).toEqual([[0], [1000], [2000], [3000], [4000]])
    for (const tensor of kept) tensor.dispose()
    expect(backend.stats()).toMatchObject({ tensors: 0, bytes: 0 })
  })

  it('report an allocation that fails at their read, and all others stay', async () => {
    await using backend = await open()
    const kept = backend.tensor(pair)
    // The fault would hit an allocation that is still queued.
    await read(kept)
    libraries.configure('fault.cudaMallocAsync=2')
    const [zeros, copy] = [backend.zeros([4]), backend.tensor(pair)]
    for (const tensor of [zeros, copy]) {
      await expect(tensor.read()).rejects.toMatchObject({
        code: 'ERR_OUT_OF_DEVICE_MEMORY',
        requestedBytes: tensor.bytes,
      })
    }
    libraries.configure('fault.cudaMallocAsync=0')
    // There is no memory to write into, also later.
    backend.ops.assign(copy, pair)
    await expect(copy.read()).rejects.toMatchObject({ code: 'ERR_OUT_OF_DEVICE_MEMORY' })
    expect(await read(kept)).toEqual([1, 2])
    for (const tensor of [zeros, copy]) tensor.dispose()
    expect(backend.stats()).toMatchObject({ tensors: 1, bytes: 8 })
    expect(await read(backend.tensor(pair))).toEqual([1, 2])
  })

  it.each(['cudaMemcpyAsync=1@1', 'cudaEventCreateWithFlags=2', 'cudaEventRecord=1', 'cudaEventSynchronize=1@1'])(
    'are whole after a read in which %s',
    async (fault) => {
      await using backend = await open()
      const tensor = backend.tensor(pair)
      await read(tensor)
      libraries.configure(`fault.${fault}`)
      const outcome = await read(tensor).catch((error: unknown) => error)
      // Without an event the stream is waited for instead.
      if (fault.startsWith('cudaEventCreate') || fault.startsWith('cudaEventRecord')) expect(outcome).toEqual([1, 2])
      else expect(outcome).toMatchObject({ code: 'ERR_CUDA', call: fault.split('=')[0] })
      libraries.configure(`fault.${fault.split('=')[0]}=0`)
      expect(await read(tensor)).toEqual([1, 2])
    },
  )
})
