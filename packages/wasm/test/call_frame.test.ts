import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { loadModule } from '../src/load_module.js'
import { WasmHeap } from '../src/wasm_heap.js'
import { instantiate } from '../src/wasm_instance.js'

const { module } = await loadModule('float32', 'simd128')

describe('CallFrame', () => {
  it('copies operands in and results back, across growth of the memory', () => {
    const heap = new WasmHeap(instantiate(module), 'float64')
    const [read, written, integers] = [Float64Array.of(1, 2), new Float64Array(2), Int32Array.of(3, -4)]
    heap.call('test', (frame) => {
      const [from, to, whole] = [frame.read(read), frame.write(written), frame.update(integers)]
      const before = heap.exports.memory.buffer
      frame.place(2 ** 27)
      expect(heap.exports.memory.buffer).not.toBe(before)
      heap.floats.set(heap.floats.subarray(from / 8, from / 8 + 2), to / 8)
      new Int32Array(heap.exports.memory.buffer, whole, 2).fill(9)
    })
    expect([...written]).toEqual([1, 2])
    expect([...integers]).toEqual([9, 9])
    expect([...read]).toEqual([1, 2])
  })

  it('uses the memory of a call again', () => {
    const heap = new WasmHeap(instantiate(module), 'float32')
    const place = (bytes: number) => heap.call('test', (frame) => frame.place(bytes))
    place(2 ** 20)
    const [first, bytes] = [place(2 ** 20), heap.exports.memory.buffer.byteLength]
    for (let call = 0; call < 100; call++) expect(place(2 ** 20)).toBe(first)
    expect(heap.exports.memory.buffer.byteLength).toBe(bytes)
    expect(first % 64).toBe(0)
  })

  it('leaves results as they were where the call fails, and the next call works', () => {
    const heap = new WasmHeap(instantiate(module), 'float32')
    const result = Float32Array.of(5)
    const fail = () =>
      heap.call('test', (frame, exports) => {
        frame.write(result)
        // A network of an unknown cell, at an invalid address.
        exports.networkParamsSize(-1)
      })
    expect(fail).toThrow(coded('ERR_WASM_OPERATION'))
    expect([...result]).toEqual([5])
    expect(heap.call('test', (frame) => frame.place(8))).toBeGreaterThan(0)
  })
})
