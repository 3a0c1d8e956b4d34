import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`CudnnDenseKernels (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  it.each([
    ['one digit', 7, 40],
    ['a vocabulary of a digit, whose foreign ids need another', 256, 300],
    ['two digits and several blocks', 700, 900],
    ['no ids', 5, 0],
  ])('the gradient of an embedding adds up each id in the order of its rows: %s', async (_, vocabulary, count) => {
    const columns = 3
    // On the device, where an id outside the table contributes nothing.
    const ids = Int32Array.from({ length: count }, (_, n) =>
      n % 11 === 0 ? -1 : n % 13 === 0 ? vocabulary : (n * n) % vocabulary,
    )
    const rows = Float32Array.from({ length: count * columns }, (_, k) => Math.sin(k) * 10 ** (k % 5))
    const expected = new Float32Array(vocabulary * columns)
    for (const [n, id] of ids.entries()) {
      if (id < 0 || id >= vocabulary) continue
      for (let e = 0; e < columns; e++) {
        const at = id * columns + e
        expected[at] = expected[at] + rows[n * columns + e]
      }
    }
    await using backend = await open()
    const onDevice = backend.tensor({ data: ids, shape: [count] })
    const gradient = backend.ops.embeddingGradient(vocabulary, onDevice, { data: rows, shape: [count, columns] })
    expect((await gradient.read()).data).toEqual(expected)
  })

  it('the norm of tensors of very different sizes takes one buffer', async () => {
    await using backend = await open()
    const sizes = [1, 5000, 300_000, 2]
    const tensors = sizes.map((size) => backend.tensor({ data: new Float32Array(size).fill(2), shape: [size] }))
    const allocated = () => libraries.report().calls['cudaMallocAsync']
    await backend.ops.globalNorm(tensors).read()
    const before = allocated()
    const norm = (await backend.ops.globalNorm(tensors).read()).data[0]
    expect(norm).toBeCloseTo(2 * Math.sqrt(sizes.reduce((sum, size) => sum + size, 0)), 2)
    // The norm itself, and the partial sums of all tensors.
    expect(allocated() - before).toBe(2)
  })
})
