import { describe, expect, it } from 'vitest'
import { loadModule } from '../src/load_module.js'
import { WasmHeap } from '../src/wasm_heap.js'
import { instantiate } from '../src/wasm_instance.js'

const { module } = await loadModule('float32', 'simd128')
const heapOf = () => new WasmHeap(instantiate(module), 'float32')
const elementsAt = (heap: WasmHeap, address: number, count: number) => [
  ...heap.floats.subarray(address / 4, address / 4 + count),
]

describe('ResidentArrays', () => {
  it('copies an array once for each of its versions', () => {
    const heap = heapOf()
    const array = Float32Array.of(1, 2, 3)
    const address = heap.resident.addressOf(array, 0)
    expect(elementsAt(heap, address, 3)).toEqual([1, 2, 3])
    array.fill(7)
    expect(heap.resident.addressOf(array, 0)).toBe(address)
    expect(elementsAt(heap, address, 3)).toEqual([1, 2, 3])
    expect(heap.resident.addressOf(array, 1)).toBe(address)
    expect(elementsAt(heap, address, 3)).toEqual([7, 7, 7])
  })

  it('frees all but the last copy where memory is short, and copies again', () => {
    const heap = heapOf()
    const arrays = [Float32Array.of(1), Float32Array.of(2)] as const
    for (const array of arrays) heap.resident.addressOf(array, 0)
    expect(heap.resident.evict()).toBe(true)
    expect(heap.resident.evict()).toBe(false)
    for (const array of arrays) expect(elementsAt(heap, heap.resident.addressOf(array, 0), 1)).toEqual([...array])
  })

  it('keeps the 256 copies that were used last', () => {
    const heap = heapOf()
    const first = Float32Array.of(1)
    const address = heap.resident.addressOf(first, 0)
    const others = Array.from({ length: 255 }, (_, index) => Float32Array.of(index))
    for (const array of others) heap.resident.addressOf(array, 0)
    expect(heap.resident.addressOf(first, 0)).toBe(address)
    // The oldest is now the first of the others: its memory serves the new array.
    const oldest = heap.resident.addressOf(others[1]!, 0)
    heap.resident.addressOf(Float32Array.of(5), 0)
    expect(heap.resident.addressOf(others[1]!, 0)).toBe(oldest)
    expect(elementsAt(heap, heap.resident.addressOf(others[0]!, 0), 1)).toEqual([0])
  })
})
