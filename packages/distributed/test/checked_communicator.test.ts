import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CheckedCommunicator, type Transport } from '../src/checked_communicator.js'

const DESCRIPTION = { engine: 'mpi', reason: 'of the test', rank: 1, size: 3, localRank: 1, localSize: 2 } as const

/** A communicator whose transport notes its calls, and tensors that it sums. */
function noted(size: number = DESCRIPTION.size, sumsTensors = true) {
  const calls: unknown[][] = []
  const note = async (...call: unknown[]) => void calls.push(call)
  const transport: Transport = {
    allReduce: (array, op, wire) => note('allReduce', array, op, wire),
    ...(sumsTensors ? { tensorSum: () => (tensors, options) => note('tensorSum', tensors, options) } : {}),
    broadcast: (bytes, root) => note('broadcast', bytes, root),
    allGather: async (bytes) => {
      await note('allGather', bytes)
      return [bytes]
    },
    barrier: () => note('barrier'),
    abort: (reason, code) => {
      calls.push(['abort', reason, code])
      throw new Error('ended')
    },
    close: () => note('close'),
  }
  return { calls, communicator: new CheckedCommunicator({ ...DESCRIPTION, size }, transport) }
}

describe('CheckedCommunicator', () => {
  it('has the description of its engine', () => {
    expect(noted().communicator).toMatchObject(DESCRIPTION)
  })

  it('refuses to sum tensors of no executor', () => {
    expect(() => noted().communicator.tensorSum(undefined as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })

  it('passes calls on with their defaults', async () => {
    const { calls, communicator } = noted()
    const [array, bytes] = [Float32Array.of(1), Uint8Array.of(2)]
    await communicator.allReduce(array)
    await communicator.allReduce(array, { op: 'max' })
    await communicator.allReduce(array, { wire: 'bfloat16' })
    await communicator.broadcast(bytes)
    await communicator.broadcast(bytes, 2)
    expect(await communicator.allGather(bytes)).toEqual([bytes])
    await communicator.barrier()
    expect(calls).toEqual([
      ['allReduce', array, 'sum', undefined],
      ['allReduce', array, 'max', undefined],
      ['allReduce', array, 'sum', 'bfloat16'],
      ['broadcast', bytes, 0],
      ['broadcast', bytes, 2],
      ['allGather', bytes],
      ['barrier'],
    ])
  })

  it('refuses arguments before the transport has them', async () => {
    const { calls, communicator } = noted()
    const floats = Float32Array.of(1)
    const bytes = Uint8Array.of(1)
    const refusals: [promise: () => Promise<unknown>, code: string][] = [
      [() => communicator.allReduce([1] as never), 'ERR_INVALID_ARGUMENT'],
      [() => communicator.allReduce(bytes as never), 'ERR_INVALID_ARGUMENT'],
      [() => communicator.allReduce(floats, { op: 'product' as never }), 'ERR_INVALID_OPTION'],
      [() => communicator.allReduce(floats, { operation: 'max' } as never), 'ERR_UNKNOWN_OPTION'],
      // A wire is for sums of floats alone.
      [() => communicator.allReduce(floats, { op: 'max', wire: 'bfloat16' }), 'ERR_INVALID_OPTION'],
      [() => communicator.allReduce(Int32Array.of(1), { wire: 'bfloat16' }), 'ERR_INVALID_ARGUMENT'],
      [() => communicator.allReduce(floats, { wire: 'float16' as never }), 'ERR_INVALID_OPTION'],
      [() => communicator.broadcast(floats as never), 'ERR_INVALID_ARGUMENT'],
      ...[3, -1, 0.5, Number.NaN].map((root): [() => Promise<unknown>, string] => [
        () => communicator.broadcast(bytes, root),
        'ERR_INVALID_OPTION',
      ]),
      [() => communicator.allGather(undefined as never), 'ERR_INVALID_ARGUMENT'],
    ]
    for (const [call, code] of refusals) await expect(call()).rejects.toEqual(coded(code))
    expect(calls).toEqual([])
  })

  it('pins the memory of a call, so that it cannot be transferred while the ranks write to it', async () => {
    const { communicator } = noted()
    const array = new Float32Array(4)
    await communicator.allReduce(array)
    // Node.js 20 copies such a buffer, later releases throw.
    await Promise.resolve()
      .then(() => structuredClone(array, { transfer: [array.buffer] }))
      .catch(() => undefined)
    expect(array.length).toBe(4)
  })

  it('sums tensors where its engine does', async () => {
    expect(noted(3, false).communicator.tensorSum({} as never)).toBeUndefined()
    const { calls, communicator } = noted()
    const sum = communicator.tensorSum({} as never)
    await sum?.([], { wire: 'bfloat16' })
    expect(calls).toEqual([['tensorSum', [], { wire: 'bfloat16' }]])
    await expect(sum?.({} as never)).rejects.toEqual(coded('ERR_INVALID_ARGUMENT'))
    await expect(sum?.([], { op: 'max' } as never)).rejects.toEqual(coded('ERR_UNKNOWN_OPTION'))
    expect(calls.length).toBe(1)
  })

  it('checks an abort: the code of a process that fails is in 1..255', () => {
    const { calls, communicator } = noted()
    for (const code of [0, 256, -1, 1.5]) {
      expect(() => communicator.abort('a reason', code)).toThrow(coded('ERR_INVALID_OPTION', { value: code }))
    }
    expect(() => communicator.abort(3 as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    expect(calls).toEqual([])
    expect(() => communicator.abort('a reason')).toThrow('ended')
    expect(() => communicator.abort('a reason', 255)).toThrow('ended')
    expect(calls).toEqual([
      ['abort', 'a reason', 1],
      ['abort', 'a reason', 255],
    ])
  })

  it('closes once, and refuses every call from then on', async () => {
    const { calls, communicator } = noted()
    const sum = communicator.tensorSum({} as never)
    const closing = communicator.dispose()
    expect(communicator.dispose()).toBe(closing)
    await communicator[Symbol.asyncDispose]()
    expect(calls).toEqual([['close']])
    const closed = coded('ERR_COMMUNICATOR_CLOSED')
    await expect(communicator.allReduce(Float32Array.of(1))).rejects.toEqual(closed)
    await expect(communicator.broadcast(Uint8Array.of(1))).rejects.toEqual(closed)
    await expect(communicator.allGather(Uint8Array.of(1))).rejects.toEqual(closed)
    await expect(communicator.barrier()).rejects.toEqual(closed)
    await expect(sum?.([])).rejects.toEqual(closed)
    expect(() => communicator.tensorSum({} as never)).toThrow(closed)
    expect(calls.length).toBe(1)
  })

  it('rounds nothing over one rank, with a wire too', async () => {
    const { calls, communicator } = noted(1)
    const array = Float32Array.of(1)
    await communicator.allReduce(array, { wire: 'bfloat16' })
    await communicator.tensorSum({} as never)?.([], { wire: 'bfloat16' })
    expect(calls).toEqual([
      ['allReduce', array, 'sum', undefined],
      ['tensorSum', [], { wire: undefined }],
    ])
  })
})
