import { createRnnDescriptor, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import {
  HostBackend,
  HostMemory,
  type HostTensor,
  type OperationKernels,
  type OperationQueue,
} from '../../../src/executor/index.js'
import { stubTensor, zeros } from '../stub_tensor.js'

function open(queue?: OperationQueue, settled?: () => Promise<void>) {
  const memory = new HostMemory('float32', queue)
  const prepared: RnnDescriptor[] = []
  const backend = new HostBackend({
    ...{ name: 'own', reason: 'a test', memory },
    kernels: {} as OperationKernels<HostTensor>,
    products: { addProduct: () => {} },
    prepare: (descriptor) => {
      prepared.push(descriptor)
      return {} as never
    },
    ...(settled && { settled }),
  })
  return { backend, memory, prepared }
}

interface Pending {
  readonly promise: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** A promise that the test settles. */
function openPending(): Pending {
  let [resolve, reject]: [Pending['resolve'], Pending['reject']] = [() => {}, () => {}]
  const promise = new Promise<void>((...settlers) => {
    ;[resolve, reject] = settlers
  })
  return { promise, resolve, reject }
}

/** Operations that are done in the order in which a test resolves them. */
function openQueue() {
  const pending = new Map<number, Pending>()
  const queue: OperationQueue = {
    failureCode: 'ERR_OWN_OPERATION',
    done: (job) => {
      const each = pending.get(job) ?? openPending()
      pending.set(job, each)
      return each.promise
    },
    pin: () => {},
    close: () => {},
  }
  return { queue, pending }
}

describe('HostBackend', () => {
  it('prepares networks of checked descriptors alone', () => {
    const { backend, prepared } = open()
    const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 2, inputSize: 1 })
    backend.rnn(descriptor)
    expect(prepared).toEqual([descriptor])
    expect(() => backend.rnn({ ...descriptor, numUnits: 0 })).toThrow(coded('ERR_INVALID_OPTION'))
    expect(() => backend.rnn(undefined as never)).toThrow(TypeError)
    expect(prepared).toHaveLength(1)
  })

  it('makes zeros with a layout, and refuses other options', () => {
    const { backend } = open()
    expect(backend.zeros([2], { layout: 'lstm/1' }).layout).toBe('lstm/1')
    expect(backend.zeros([]).live).toEqual(new Float32Array(1))
    expect(() => backend.zeros([2], { dtype: 'float64' } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
    expect(() => backend.zeros([-1])).toThrow(coded('ERR_SHAPE'))
  })

  it('owns its tensors until it is disposed, with all of them', () => {
    const { backend } = open()
    let seen: HostTensor | undefined
    {
      using disposed = backend
      seen = disposed.tensor(zeros(2))
      expect([disposed.owns(seen), disposed.owns(stubTensor([2]))]).toEqual([true, false])
      expect(String(disposed)).toBe('Backend { name: "own", dtype: "float32", tensors: 1, bytes: 8, state: "live" }')
    }
    expect(seen.disposed).toBe(true)
    expect(String(backend)).toContain('state: "disposed"')
    expect(() => backend.tensor(zeros(2))).toThrow(coded('ERR_BACKEND_DISPOSED'))
    expect(() => backend.shared.tensor(new Float32Array(1), { shape: [1], id: 'a', layout: undefined })).toThrow(
      coded('ERR_BACKEND_DISPOSED'),
    )
  })
})

describe('HostBackend.arraysToWrite', () => {
  it('gives the arrays themselves, in their order, and counts a write of each', async () => {
    const { backend } = open()
    const tensors = [backend.zeros([2]), backend.zeros([3]), backend.zeros([0])]
    expect(await backend.arraysToWrite('reduce gradients', tensors)).toEqual(tensors.map(({ live: data }) => data))
    const arrays = await backend.arraysToWrite('reduce gradients', tensors)
    for (const [index, { live: data }] of tensors.entries()) expect(arrays[index]).toBe(data)
    expect(tensors.map(({ version }) => version)).toEqual([2, 2, 2])
    expect(await backend.arraysToWrite('reduce gradients', [])).toEqual([])
  })

  it('waits for the operations that write the tensors, and for those before', async () => {
    const { queue, pending } = openQueue()
    const settled = openPending()
    const { backend, memory } = open(queue, () => settled.promise)
    const written = memory.result([2], new Float32Array(2), 4)
    let given = false
    const arrays = backend.arraysToWrite('reduce gradients', [written]).then((found) => {
      given = true
      return found
    })
    await null
    pending.get(4)!.resolve()
    await new Promise((resolve) => setTimeout(resolve))
    expect(given).toBe(false)
    settled.resolve()
    expect(await arrays).toEqual([new Float32Array(2)])
  })

  it('rejects with the error of an operation that was to fill a tensor', async () => {
    const { queue, pending } = openQueue()
    const { backend, memory } = open(queue)
    const written = memory.result([2], new Float32Array(2), 4)
    const arrays = backend.arraysToWrite('reduce gradients', [written])
    pending.get(4)!.reject(new Error('out of luck'))
    await expect(arrays).rejects.toThrow(
      coded('ERR_OWN_OPERATION', { message: expect.stringContaining('out of luck') }),
    )
  })

  it('refuses tensors that cannot be written, by their place, and counts no write', async () => {
    const { backend, memory } = open()
    const first = backend.zeros([2])
    const disposed = backend.zeros([2])
    disposed.dispose()
    const shared = memory.shared(memory.allocateShared(2), { shape: [2], layout: undefined, id: 'weights' })
    for (const [second, code] of [
      [stubTensor([2]), 'ERR_FOREIGN_TENSOR'],
      [zeros(2), 'ERR_NOT_A_TENSOR'],
      [undefined, 'ERR_NOT_A_TENSOR'],
      [shared, 'ERR_SHARED_TENSOR'],
      [backend.tensor({ data: new Int32Array(2), shape: [2] }), 'ERR_DTYPE'],
    ] as const) {
      const refused = backend.arraysToWrite('reduce gradients', [first, second as never])
      await expect(refused).rejects.toThrow(coded(code, { argument: 'tensors[1]' }))
    }
    await expect(backend.arraysToWrite('reduce', [first, disposed])).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    expect(first.version).toBe(0)
    backend.dispose()
    await expect(backend.arraysToWrite('reduce', [])).rejects.toThrow(coded('ERR_BACKEND_DISPOSED'))
  })
})
