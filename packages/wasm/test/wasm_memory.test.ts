import { expect, it } from 'vitest'
import type { WasmHeap } from '../src/wasm_heap.js'
import { WasmMemory } from '../src/open_wasm.js'

it('closes the heap when it is disposed, once', () => {
  let closed = 0
  const memory = new WasmMemory('float32', { close: () => closed++ } as unknown as WasmHeap)
  const tensor = memory.zeros([2])
  memory.dispose()
  memory.dispose()
  expect([closed, tensor.disposed]).toEqual([1, true])
})

it('gives operations the elements of host tensors themselves', () => {
  const memory = new WasmMemory('float64', { close: () => {} } as unknown as WasmHeap)
  const host = { data: Float64Array.of(1, 2), shape: [2] }
  expect(memory.floats(host)).toBe(host.data)
  expect(memory.lastingFloats(host)).not.toBe(host.data)
})
