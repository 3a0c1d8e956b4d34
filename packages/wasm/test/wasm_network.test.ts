import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { loadModule } from '../src/load_module.js'
import { WasmHeap } from '../src/wasm_heap.js'
import { instantiate } from '../src/wasm_instance.js'
import { WasmNetwork } from '../src/wasm_network.js'

const { module } = await loadModule('float32', 'simd128')

describe('WasmNetwork', () => {
  it('writes no bias that the network does not have', () => {
    const heap = new WasmHeap(instantiate(module), 'float32')
    const shape = { cellMode: 'lstm', numLayers: 1, numUnits: 5, inputSize: 4 } as const
    const network = new WasmNetwork(heap, createRnnDescriptor({ ...shape, biasMode: 'none' }))
    const before = 64
    const memory = new Float32Array(before + network.paramsSize())
    heap.call('test', (frame, exports) => {
      const params = frame.update(memory) + 4 * before
      const bias = frame.read(new Float32Array(5).fill(1))
      for (const side of [0, 1]) exports.networkMoveRegion(network.address, params, bias, 0, side, 0, 1, 1)
    })
    expect(memory.every((value) => value === 0)).toBe(true)
  })
})
