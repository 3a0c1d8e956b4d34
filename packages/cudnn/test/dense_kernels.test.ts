import { expectOutcome, wrongCalls } from '@cudnn-rnn/conformance'
import { CHECKED_ROWS } from '@cudnn-rnn/ops/executor'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`CudnnDenseKernels (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  it.each([
    ['few ids, which are not sorted', 7, 40],
    ['one digit', 7, 1100],
    ['a vocabulary of a digit, whose foreign ids need another', 256, 1100],
    ['two digits and several blocks', 700, 1300],
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

  const phased = { period: [2, 4], phase: [0.5, 1], ratioOn: [0.5, 0.25] }
  const vector = (data: readonly number[]) => ({ data: Float32Array.from(data), shape: [data.length] })
  const column = (data: readonly number[]) => ({ data: Float32Array.from(data), shape: [data.length, 1] })
  const variables = { period: vector(phased.period), phase: vector(phased.phase), ratioOn: vector(phased.ratioOn) }

  it('a phased gate opens, closes and leaks, before its phase too', async () => {
    await using backend = await open()
    const { phasedGate, phasedGateGradients } = backend.ops
    const times = column([0.75, 1.25, 2, -1.75])
    // Phases of unit 0: 1/8, 3/8, 3/4, 7/8; of unit 1: 15/16, 1/16, 1/4, 5/16.
    const open0 = [0.5, 0.5, 0.075, 0.0875]
    const open1 = [0.09375, 0.5, 0.025, 0.03125]
    const gates = (await phasedGate!(times, variables, { leak: 0.1 }).read()).data
    for (const [row, value] of open0.entries()) expect(gates[2 * row]).toBeCloseTo(value, 6)
    for (const [row, value] of open1.entries()) expect(gates[2 * row + 1]).toBeCloseTo(value, 6)
    const none = phasedGate!(column([]), variables, { leak: 0.1 })
    expect((await none.read()).data).toHaveLength(0)
    const dy = { data: new Float32Array(0), shape: [0, 2] }
    const gradients = phasedGateGradients!(column([]), variables, dy, { leak: 0.1 })
    expect([...(await gradients.period.read()).data]).toEqual([0, 0])
  })

  it('operations of devices alone refuse wrong arguments by their rows', async () => {
    await using backend = await open()
    await using elsewhere = await open()
    for (const row of CHECKED_ROWS.filter((checked) => checked.row.isOfDevices)) {
      for (const [title, code, call] of wrongCalls(row, backend, elsewhere)) {
        await expectOutcome(title, code, call)
      }
    }
    expect(backend.stats().tensors).toBe(0)
  })

  it('the norm of no tensors, and the loss of no rows, are 0', async () => {
    await using backend = await open()
    const { ops } = backend
    expect([...(await ops.globalNorm([]).read()).data]).toEqual([0])
    const none = { data: new Float32Array(0), shape: [0, 2] }
    const { loss } = ops.softmaxCrossEntropy(none, { data: new Int32Array(0), shape: [0] })
    expect([...(await loss.read()).data]).toEqual([0])
  })

  it('the norm of tensors of very different sizes takes one buffer', async () => {
    await using backend = await open()
    const sizes = [1, 5000, 300_000, 2, 3]
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
