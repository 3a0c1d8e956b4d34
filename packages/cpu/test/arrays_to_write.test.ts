import { describe, expect, it } from 'vitest'
import { openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

const skipped = instructionSetsUnderTest('arrays to write').length === 0
const LENGTH = 100_000

describe.skipIf(skipped)('arraysToWrite of the cpu executor', () => {
  it('waits for the operations that were queued before, whether they write or read the tensors', async () => {
    using backend = openCpuBackend({ threads: 1 })
    const source = backend.tensor({ data: new Float32Array(LENGTH).fill(1), shape: [LENGTH] })
    const sum = backend.zeros([LENGTH])
    for (let k = 0; k < 20; k++) backend.ops.accumulate(sum, source)
    const [array] = await backend.arraysToWrite('sum tensors', [source])
    array.fill(Number.NaN)
    expect((await sum.read()).data.every((each) => each === 20)).toBe(true)
    backend.ops.accumulate(sum, sum)
    const [written] = await backend.arraysToWrite('sum tensors', [sum])
    expect(written.every((each) => each === 40)).toBe(true)
    written[0] = 7
    expect((await sum.read()).data[0]).toBe(7)
  })

  it('counts the tensors as written, and refuses those of others', async () => {
    using backend = openCpuBackend({ threads: 1 })
    using other = openCpuBackend({ threads: 1 })
    const tensor = backend.zeros([2])
    const { version } = tensor
    await backend.arraysToWrite('sum tensors', [tensor])
    expect(tensor.version).toBe(version + 1)
    await expect(backend.arraysToWrite('sum tensors', [tensor, other.zeros([2])])).rejects.toMatchObject({
      code: 'ERR_FOREIGN_TENSOR',
      message: expect.stringMatching(/^Cannot sum tensors as tensors\[1\]/),
    })
    expect(tensor.version).toBe(version + 1)
    const shared = backend.shared.tensor(backend.shared.allocate(2), { shape: [2], layout: undefined, id: 'shared' })
    await expect(backend.arraysToWrite('sum tensors', [shared])).rejects.toMatchObject({ code: 'ERR_SHARED_TENSOR' })
    backend.dispose()
    await expect(backend.arraysToWrite('sum tensors', [tensor])).rejects.toMatchObject({ code: 'ERR_BACKEND_DISPOSED' })
  })
})
