import { createRnnDescriptor, type NamedTensors } from '@cudnn-rnn/canonical'
import { describe, expect, it, vi } from 'vitest'
import { SharedParameters } from '../src/networks/shared_parameters.js'
import type { StoredTensor } from '../src/stored_tensor.js'

const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 2, inputSize: 3 })

function stored(name: string, read: StoredTensor['read'] = vi.fn(async () => Float32Array.of(1, 2))): StoredTensor {
  return { name, shape: [2], dtype: 'F32', read }
}

const converted = () =>
  vi.fn((tensors: NamedTensors) => ({ weights: Object.values(tensors), biases: Object.values(tensors) }))

describe('SharedParameters', () => {
  it('reads elements that several interpretations request once, and forgets them after the last', async () => {
    const tensor = stored('w')
    const shared = new SharedParameters([tensor])
    const [own] = shared.tensors
    shared.expect([{ tensors: [own!] }, { tensors: [], alsoUses: [own!] }])
    const [first, second] = [await own!.read(), await own!.read()]
    expect(second).toBe(first)
    expect(tensor.read).toHaveBeenCalledTimes(1)
    // Nothing is held after the last expected request.
    await own!.read()
    expect(tensor.read).toHaveBeenCalledTimes(2)
  })

  it('shares the elements of tensors with one reader, such as aliases of a storage', async () => {
    const read = vi.fn(async () => Float32Array.of(1))
    const shared = new SharedParameters([stored('a', read), stored('b', read), stored('c')])
    const [a, b, c] = shared.tensors
    expect(a!.read).toBe(b!.read)
    expect(c!.read).not.toBe(a!.read)
    shared.expect([{ tensors: [a!, b!] }])
    expect(await a!.read()).toBe(await b!.read())
    expect(read).toHaveBeenCalledTimes(1)
  })

  it('converts a group once per descriptor, places and shapes', async () => {
    const shared = new SharedParameters([stored('a'), stored('b')])
    const [a, b] = shared.tensors
    const convert = converted()
    const canonical = (entries: readonly (readonly [string, StoredTensor])[], of = descriptor) =>
      shared.canonical(of, new Map(entries), convert)
    const first = await canonical([['w', a!]])
    expect(await canonical([['w', a!]])).toBe(first)
    // An equal descriptor that is another object.
    expect(await canonical([['w', a!]], createRnnDescriptor({ ...descriptor }))).toBe(first)
    expect(convert).toHaveBeenCalledTimes(1)
    const others = [
      canonical([['w', b!]]),
      canonical([['other', a!]]),
      canonical([['w', { ...a!, shape: [1, 2] }]]),
      canonical([['w', a!]], createRnnDescriptor({ ...descriptor, numLayers: 2 })),
      canonical([
        ['w', a!],
        ['b', b!],
      ]),
    ]
    expect(new Set([first, ...(await Promise.all(others))]).size).toBe(6)
  })

  it('rejects with the reason of the signal before anything is read', async () => {
    const tensor = stored('w')
    const signal = AbortSignal.abort(new Error('stopped'))
    const shared = new SharedParameters([tensor], signal)
    await expect(shared.tensors[0]!.read()).rejects.toThrow('stopped')
    await expect(shared.canonical(descriptor, new Map([['w', shared.tensors[0]!]]), converted())).rejects.toThrow(
      'stopped',
    )
    expect(tensor.read).not.toHaveBeenCalled()
  })

  it('rejects each network whose tensor cannot be read', async () => {
    const broken = stored('w', () => Promise.reject(new Error('truncated')))
    const shared = new SharedParameters([broken, stored('b')])
    const [w, b] = shared.tensors
    shared.expect([{ tensors: [w!] }, { tensors: [w!] }])
    const convert = converted()
    for (const entries of [
      [['w', w!]],
      [
        ['w', w!],
        ['b', b!],
      ],
    ] as const) {
      await expect(shared.canonical(descriptor, new Map(entries), convert)).rejects.toThrow('truncated')
    }
    expect(convert).not.toHaveBeenCalled()
  })
})
