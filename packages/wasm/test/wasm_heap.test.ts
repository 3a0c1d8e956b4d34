import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { loadModule } from '../src/load_module.js'
import { WasmHeap } from '../src/wasm_heap.js'
import { instantiate, maySleep } from '../src/wasm_instance.js'
import { WasmNetwork } from '../src/wasm_network.js'
import { WasmTape } from '../src/wasm_objects.js'
import { WasmOperations } from '../src/wasm_operations.js'
import { WasmStepper } from '../src/wasm_stepper.js'

const { module } = await loadModule('float32', 'simd128')
const open = () => new WasmHeap(instantiate(module), 'float32')
/** An invalid address: the kernels trap. */
const trap = (heap: WasmHeap) => heap.exports.networkParamsSize(-1)

describe('WasmHeap.allocate', () => {
  it('gives separate memory at addresses of cache lines, and takes it back', () => {
    const heap = open()
    const [first, second] = [heap.allocate(100), heap.allocate(1)]
    expect([first % 64, second % 64]).toEqual([0, 0])
    expect(Math.abs(second - first)).toBeGreaterThanOrEqual(Math.min(100, 64))
    for (const address of [first, second, heap.allocate(2 ** 20)]) heap.release(address)
    const { byteLength } = heap.exports.memory.buffer
    for (let time = 0; time < 200; time++) heap.release(heap.allocate(2 ** 20))
    expect(heap.exports.memory.buffer.byteLength).toBe(byteLength)
  })

  it('refuses more than there can be, and allocates afterwards', () => {
    const heap = open()
    expect(() => heap.guard('compute', () => heap.allocate(2 ** 32 - 2 ** 20))).toThrow(
      coded('ERR_OUT_OF_MEMORY', { name: 'RangeError', message: expect.stringMatching(/^Cannot compute as /) }),
    )
    expect(heap.allocate(64)).toBeGreaterThan(0)
  })

  it('frees copies of parameters that can be made again before it refuses', () => {
    const heap = open()
    const arrays = [new Float32Array(2 ** 20), new Float32Array(2 ** 20)]
    for (const array of arrays) heap.resident.addressOf(array, 0)
    expect(() => heap.allocate(2 ** 32 - 2 ** 20)).toThrow(/out of memory/)
    // All but the one that was used last: it may be an operand of this call.
    expect(heap.resident.evict()).toBe(false)
  })
})

describe('WasmHeap.guard and call', () => {
  it('turn a trap into a coded error, after which the kernels compute', () => {
    const heap = open()
    const before = heap.exports.__stack_pointer.value
    for (let attempt = 0; attempt < 3; attempt++) {
      const failure = coded('ERR_WASM_OPERATION', { message: expect.stringMatching(/^Cannot multiply as the kernels/) })
      expect(() => heap.guard('multiply', () => trap(heap))).toThrow(failure)
      expect(heap.exports.__stack_pointer.value).toBe(before)
    }
    const [c, a, b] = [new Float32Array(400), new Float32Array(400).fill(1), new Float32Array(400).fill(2)]
    const layout = Float64Array.of(0, 20, 1, 0, 20, 1, 0, 20, 1, 20, 20, 20)
    new WasmOperations(heap).addProduct({ c, a, b, layout })
    expect(c.every((value) => value === 40)).toBe(true)
  })

  it('pass errors of JavaScript on as they are', () => {
    const failure = Object.assign(new RangeError('Array buffer allocation failed'), { code: 'ERR_OWN' })
    expect(() =>
      open().guard('compute', () => {
        throw failure
      }),
    ).toThrow(failure)
  })

  it('end the frame of a call within which another one failed', () => {
    const heap = open()
    const addressOf = () => heap.call('first', (frame) => frame.place(64))
    const first = addressOf()
    expect(() =>
      heap.call('second', (frame) => {
        frame.place(2 ** 20)
        throw new Error('body')
      }),
    ).toThrow('body')
    expect(addressOf()).toBeGreaterThan(0)
    expect([addressOf(), addressOf()].every((address, _, all) => address === all[0])).toBe(true)
    expect(first).toBeGreaterThan(0)
  })
})

describe('WasmHeap.paramsAddress', () => {
  it('copies parameters in each call without a version, and once for a version', () => {
    const heap = open()
    const params = Float32Array.of(1, 2)
    const read = (version: number | undefined) =>
      heap.call('read', (frame) => {
        const address = heap.paramsAddress(frame, params, version)
        return [...heap.floats.subarray(address / 4, address / 4 + 2)]
      })
    expect([read(undefined), read(0)]).toEqual([
      [1, 2],
      [1, 2],
    ])
    params.fill(5)
    expect([read(undefined), read(0), read(1)]).toEqual([
      [5, 5],
      [1, 2],
      [5, 5],
    ])
  })
})

describe('WasmHeap.close', () => {
  it('refuses calls, and ignores memory and objects that are given back later', () => {
    const heap = open()
    const address = heap.allocate(64)
    const tape = new WasmTape(heap)
    heap.close()
    heap.close()
    const refusal = coded('ERR_BACKEND_DISPOSED', { name: 'RangeError' })
    expect(() => heap.exports).toThrow(refusal)
    expect(() => heap.allocate(64)).toThrow(refusal)
    expect(() => heap.call('compute', () => 1)).toThrow(refusal)
    expect(() => heap.call('compute', (frame) => frame.read(new Float32Array(1)))).toThrow(refusal)
    heap.release(address)
    tape.release()
  })
})

describe('objects of the module', () => {
  const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 8, inputSize: 4 })

  it('a tape has the bytes of its forward until it is released, once', () => {
    const heap = open()
    const network = new WasmNetwork(heap, descriptor)
    const tape = new WasmTape(heap)
    expect(tape.bytes).toBe(0)
    const [time, batch] = [5, 3]
    const [input, output] = [new Float32Array(time * batch * 4), new Float32Array(time * batch * 8)]
    const [hFinal, cFinal] = [new Float32Array(2 * batch * 8), new Float32Array(2 * batch * 8)]
    const params = new Float32Array(network.paramsSize())
    new WasmOperations(heap).forward(
      ...([network, time, batch, input, null, null, params, null, null, 0] as const),
      ...([output, hFinal, cFinal, tape, false] as const),
    )
    // Four gates and the state of each of 2·T·B·H cells at least.
    expect(tape.bytes).toBeGreaterThanOrEqual(4 * 5 * 2 * time * batch * 8)
    const { address } = tape
    tape.release()
    tape.release()
    expect(tape.address).toBe(0)
    expect(new WasmTape(heap).address).toBe(address)
  })

  it('a network of too many parameters is refused before the module has it', () => {
    const heap = open()
    const large = createRnnDescriptor({ cellMode: 'lstm', numLayers: 4, numUnits: 4096, inputSize: 4096 })
    expect(() => new WasmNetwork(heap, large)).toThrow(coded('ERR_PARAMS_TOO_LARGE', { name: 'RangeError' }))
  })

  it('a stream moves the states of the rows named, in their order', () => {
    const heap = open()
    const network = new WasmNetwork(heap, descriptor)
    const stepper = new WasmStepper(heap, network, 3, 0)
    const [h, c] = [0, 100].map((base) => Float32Array.from({ length: 2 * 3 * 8 }, (_, k) => base + k))
    stepper.moveState(h, c, true, null, 3)
    const [rowsH, rowsC] = [new Float32Array(2 * 2 * 8), new Float32Array(2 * 2 * 8)]
    stepper.moveState(rowsH, rowsC, false, Int32Array.of(2, 0, 9), 2)
    const rowOf = (all: Float32Array, layer: number, row: number) => [
      ...all.slice((layer * 3 + row) * 8, (layer * 3 + row + 1) * 8),
    ]
    const expected = (all: Float32Array) =>
      [0, 1].flatMap((layer) => [...rowOf(all, layer, 2), ...rowOf(all, layer, 0)])
    expect([...rowsH]).toEqual(expected(h))
    expect([...rowsC]).toEqual(expected(c))
    stepper.resetRow(2)
    stepper.moveState(rowsH, rowsC, false, Int32Array.of(2, 0), 2)
    expect([...rowsH]).toEqual([0, 1].flatMap((layer) => [...new Array(8).fill(0), ...rowOf(h, layer, 0)]))
  })
})

describe('maySleep', () => {
  it('is so of shared memory in a thread of Node.js, not in the main thread of a page', () => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
    expect(maySleep(memory)).toBe(!('document' in globalThis))
    expect(maySleep(new WebAssembly.Memory({ initial: 1 }))).toBe(false)
  })
})
