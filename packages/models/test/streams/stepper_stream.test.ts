import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { CudnnLSTM } from '../../src/index.js'
import { floats } from '../small_models.js'
import { withQueuedStepper } from './with_queued_stepper.js'

const SIZES = { numLayers: 1, numUnits: 3, inputSize: 2 }
const input = () => floats(Float32Array, 1, 2)

const EXECUTORS: readonly (readonly [string, () => Backend])[] = [
  ['that steps on the calling thread', () => openReferenceBackend()],
  ['that can be waited for', withQueuedStepper],
]

describe.each(EXECUTORS)('a stream on an executor %s', (_, open) => {
  function openStream(batch = 1) {
    const backend = open()
    const lstm = new CudnnLSTM(backend, SIZES)
    return { backend, stream: lstm.stream(lstm.createParams({ seed: 3 }), { batch }) }
  }

  it('reads its state before the steps and changes that are called afterwards', async () => {
    const { stream } = openStream()
    await stream.step(input())
    const before = await stream.state()
    const read = stream.state()
    const step = stream.step(input())
    expect(await read).toEqual(before)
    await step
    const after = await stream.state()
    expect(after).not.toEqual(before)
    const again = stream.state()
    stream.reset()
    expect(await again).toEqual(after)
    const zeros = stream.state()
    stream.restore(before)
    expect((await zeros).h.data.every((value) => value === 0)).toBe(true)
    expect(await stream.state()).toEqual(before)
    stream.dispose()
  })

  it('takes the numbers of one step without their shape', async () => {
    const { backend, stream } = openStream(2)
    const { stream: alone } = openStream(2)
    const numbers = Float32Array.of(1, 2, 3, 4)
    const x = { data: numbers, shape: [2, 2] }
    expect(await stream.step(numbers)).toEqual(await alone.step(x))
    const row = numbers.subarray(2)
    expect(await stream.stepRows([1], row)).toEqual(await alone.stepRows([1], { data: row, shape: [1, 2] }))
    if (backend.name === 'reference') {
      expect(stream.stepSync(numbers)).toEqual(alone.stepSync(x))
      expect(stream.stepRowsSync([0], row)).toEqual(alone.stepRowsSync([0], { data: row, shape: [1, 2] }))
    }
    await expect(stream.step(row)).rejects.toThrow(coded('ERR_SHAPE'))
    await expect(stream.step(Float64Array.from(numbers))).rejects.toThrow(coded('ERR_DTYPE'))
    await expect(stream.step(new DataView(numbers.buffer) as never)).rejects.toThrow(coded('ERR_NOT_A_TENSOR'))
    stream.dispose()
    alone.dispose()
  })

  it('reads its state after the steps that wait', async () => {
    const { backend, stream } = openStream()
    const { stream: alone } = openStream()
    await alone.step(input())
    const expected = await alone.state()
    const step = stream.step(backend.tensor(input()))
    const read = stream.state()
    const next = stream.step(input())
    await Promise.all([step, next])
    expect(await read).toEqual(expected)
    stream.dispose()
    alone.dispose()
  })

  it('returns copies of its state: writing to them changes nothing', async () => {
    const { stream } = openStream(2)
    await stream.step(floats(Float32Array, 2, 2))
    const given = await stream.state()
    const kept = structuredClone(given)
    given.h.data.fill(9)
    expect(await stream.state()).toEqual(kept)
    const [row] = [await stream.state([1])]
    row.h.data.fill(9)
    expect(await stream.state()).toEqual(kept)
    const restored = structuredClone(kept)
    stream.restore(restored)
    restored.h.data.fill(9)
    restored.c!.data.fill(9)
    expect(await stream.state()).toEqual(kept)
    stream.dispose()
  })

  it('restores and resets the rows named, and no others', async () => {
    const { stream } = openStream(3)
    await stream.step(floats(Float32Array, 3, 2))
    const before = await stream.state()
    stream.reset([1])
    const columns = before.h.shape[2]
    const expected = before.h.data.slice()
    expected.fill(0, columns, 2 * columns)
    expect((await stream.state()).h.data).toEqual(expected)
    stream.reset([])
    expect((await stream.state()).h.data).toEqual(expected)
    stream.restore(await stream.state([2]), [0])
    expected.copyWithin(0, 2 * columns)
    expect((await stream.state()).h.data).toEqual(expected)
    stream.dispose()
  })

  it('refuses every call after dispose(), which may be called twice', async () => {
    const { stream } = openStream()
    const state = await stream.state()
    stream.dispose()
    stream[Symbol.dispose]()
    await expect(stream.step(input())).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    await expect(stream.stepRows([0], input())).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    await expect(stream.state()).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    expect(() => stream.reset()).toThrow(coded('ERR_STREAM_DISPOSED'))
    expect(() => stream.restore(state)).toThrow(coded('ERR_STREAM_DISPOSED'))
    expect(String(stream)).toContain('disposed')
  })

  it('rejects the step whose tensor cannot be read, and computes the next one from the state before it', async () => {
    const { backend, stream } = openStream()
    const { stream: alone } = openStream()
    const tensor = backend.tensor(input())
    vi.spyOn(tensor, 'read').mockRejectedValueOnce(new Error('device lost'))
    const [lost, next] = [stream.step(tensor), stream.step(input())]
    await expect(lost).rejects.toThrow('device lost')
    expect(await next).toEqual(await alone.step(input()))
    stream.reset()
    stream.dispose()
    alone.dispose()
  })

  it('shows in its printed form how many steps wait', async () => {
    const { backend, stream } = openStream(2)
    expect(stream.batch).toBe(2)
    const steps = [stream.step(backend.tensor(floats(Float32Array, 2, 2))), stream.step(floats(Float32Array, 2, 2))]
    expect(String(stream)).toMatch(/Stream.*batch.*2.*waiting.*2.*live/)
    await Promise.all(steps)
    expect(String(stream)).toMatch(/waiting.*0/)
    stream.dispose()
  })
})
