import { afterEach, describe, expect, it, vi } from 'vitest'
import { SharedOutputs } from '../../src/streams/shared_outputs.js'

/** Outputs [rows, columns] of 0, 1, 2, … */
const outputsOf = (rows: number, columns: number) => Float32Array.from({ length: rows * columns }, (_, k) => k)
const copiesOf = (shared: SharedOutputs, outputs: Float32Array, rows: number) =>
  Array.from({ length: rows }, (_, row) => shared.copyOf(outputs, row, rows))

afterEach(() => {
  vi.restoreAllMocks()
})

describe('SharedOutputs', () => {
  it('gives each row its own elements, which stay when the outputs are written again', () => {
    const outputs = outputsOf(3, 2)
    const copies = copiesOf(new SharedOutputs('float32', 2), outputs, 3)
    outputs.fill(-1)
    expect(copies).toEqual([Float32Array.of(0, 1), Float32Array.of(2, 3), Float32Array.of(4, 5)])
    copies[1]!.fill(9)
    expect(copies[0]).toEqual(Float32Array.of(0, 1))
    expect(copies[2]).toEqual(Float32Array.of(4, 5))
  })

  it('has a new buffer in each round, also of fewer rows', () => {
    const shared = new SharedOutputs('float32', 2)
    const [first] = copiesOf(shared, outputsOf(4, 2), 4)
    const second = copiesOf(shared, Float32Array.of(7, 8, 9, 10), 2)
    expect(first).toEqual(Float32Array.of(0, 1))
    expect(second).toEqual([Float32Array.of(7, 8), Float32Array.of(9, 10)])
    expect(second[0]!.buffer).not.toBe(first!.buffer)
  })

  it('shares buffers of 16 KiB among neighboring rows', () => {
    // A row is 1,024 bytes: 16 rows a buffer, and the rest in a smaller one.
    const buffers = copiesOf(new SharedOutputs('float32', 256), outputsOf(40, 256), 40).map(({ buffer }) => buffer)
    expect(new Set(buffers).size).toBe(3)
    expect(new Set(buffers.slice(0, 16)).size).toBe(1)
    expect(buffers[16]).not.toBe(buffers[15])
    expect([buffers[0]!.byteLength, buffers[39]!.byteLength]).toEqual([16 * 1024, 8 * 1024])
  })

  it('keeps a shared buffer in its thread: a transfer does not take the results of others along', () => {
    const [first, second] = copiesOf(new SharedOutputs('float32', 2), outputsOf(2, 2), 2)
    try {
      structuredClone(first, { transfer: [first!.buffer as ArrayBuffer] })
    } catch (error) {
      // Node.js 20 copies it, later releases refuse it.
      expect(error).toMatchObject({ name: 'DataCloneError' })
    }
    expect(second).toEqual(Float32Array.of(2, 3))
  })

  it('gives a row that is alone a buffer that can be transferred', () => {
    const [alone] = copiesOf(new SharedOutputs('float32', 2), outputsOf(1, 2), 1)
    expect(structuredClone(alone, { transfer: [alone!.buffer as ArrayBuffer] })).toEqual(Float32Array.of(0, 1))
    // A row of more than 16 KiB has its own too.
    const wide = copiesOf(new SharedOutputs('float32', 5000), outputsOf(2, 5000), 2)
    expect(wide.map(({ buffer }) => buffer.byteLength)).toEqual([20_000, 20_000])
    expect(wide[1]![0]).toBe(5000)
  })

  it('has a buffer for each row where the platform cannot refuse a transfer', () => {
    const { process } = globalThis as unknown as { process: { getBuiltinModule(name: string): unknown } }
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue({})
    const copies = copiesOf(new SharedOutputs('float32', 2), outputsOf(3, 2), 3)
    expect(copies.map(({ buffer }) => buffer.byteLength)).toEqual([8, 8, 8])
    expect(copies[2]).toEqual(Float32Array.of(4, 5))
  })

  it('copies float64 in its precision', () => {
    const outputs = Float64Array.of(0.1, 0.2, 0.3, 0.4)
    const shared = new SharedOutputs('float64', 2)
    expect([shared.copyOf(outputs, 0, 2), shared.copyOf(outputs, 1, 2)]).toEqual([
      Float64Array.of(0.1, 0.2),
      Float64Array.of(0.3, 0.4),
    ])
  })
})
