import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { KERNEL_OPERATIONS } from '@cudnn-rnn/ops/executor'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openWasmBackend, type WasmBackendOptions } from '../src/index.js'
import { loadModule } from '../src/load_module.js'
import { WasmHeap } from '../src/wasm_heap.js'
import { instantiateWithThreads } from '../src/wasm_instance.js'
import { startThreads } from '../src/wasm_threads.js'
import { greatestDifference, trainingPass } from './training_pass.js'

const LINEAR = KERNEL_OPERATIONS.indexOf('linear')

afterEach(() => {
  vi.restoreAllMocks()
})

/** How many threads of this process end meanwhile. */
function countEnded() {
  const terminate = vi.spyOn(Worker.prototype, 'terminate')
  return () => terminate.mock.calls.length
}

describe('the threads of an executor', () => {
  it.each([2, 3])('%i of them compute as one does', async (threads) => {
    using alone = await openWasmBackend({ threads: 1 })
    using backend = await openWasmBackend({ threads })
    expect(backend.reason).toContain(`, ${threads} threads`)
    const expected = await trainingPass(alone)
    // The pool chooses how many take part by times that it measures: several passes, of which some run on all.
    for (let pass = 0; pass < 5; pass++) {
      expect(greatestDifference(await trainingPass(backend), expected)).toBeLessThan(1e-4)
    }
  })

  it('end when it is disposed, and are none where it has one thread', async () => {
    const ended = countEnded()
    const backend = await openWasmBackend({ threads: 3 })
    expect(ended()).toBe(0)
    backend.dispose()
    expect(ended()).toBe(2)
    const alone = await openWasmBackend({ threads: 1 })
    alone.dispose()
    expect(ended()).toBe(2)
  })

  it.each(['throws', 'fails', 'ends'])(
    'are one where a worker %s at its start, and the reason states it',
    async (how) => {
      vi.spyOn(process, 'getBuiltinModule').mockReturnValue({
        Worker: class {
          constructor() {
            if (how === 'throws') throw new Error('no more threads')
          }
          on(event: string, listener: (error: Error) => void) {
            if (how === 'fails' && event === 'error') queueMicrotask(() => listener(new Error('no program')))
          }
          once(event: string, listener: () => void) {
            if (how === 'ends' && event === 'exit') queueMicrotask(listener)
          }
          postMessage() {}
          async terminate() {}
        },
      } as never)
      using backend = await openWasmBackend({ threads: 2 })
      expect(backend.reason).toMatch(
        /1 thread \(workers do not start: (no more threads|no program|the worker has ended)\)/,
      )
      expect(await trainingPass(backend)).toHaveLength(2)
    },
  )

  it('are one on a platform without worker threads, and in a page that is not isolated', async () => {
    const reason = async (options: WasmBackendOptions) => {
      using backend = await openWasmBackend(options)
      return backend.reason
    }
    const builtin = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
    expect(await reason({ threads: 2 })).toContain('1 thread (this platform has no worker threads)')
    builtin.mockRestore()
    vi.stubGlobal('crossOriginIsolated', false)
    expect(await reason({ threads: 2 })).toContain('1 thread (the page is not cross-origin isolated)')
    expect(await reason({ threads: 1 })).toMatch(/1 thread$/)
    vi.unstubAllGlobals()
    const { module } = await loadModule('float32', 'simd128')
    expect(await reason({ threads: 2, module })).toContain('1 thread (a compiled module has no threads)')
  })

  it('that are all missing leave the work to the caller', async () => {
    const { module } = await loadModule('float32', undefined, true)
    const instance = await instantiateWithThreads(module, 2)
    instance.stop()
    const heap = new WasmHeap(instance, 'float32')
    const [rows, inputs, outputs] = [64, 128, 128]
    const sums = new Float32Array(rows * outputs)
    const ones = (count: number) => new Float32Array(count).fill(1)
    heap.call('test', (frame, exports) => {
      const operands = [frame.write(sums), frame.read(ones(rows * inputs)), frame.read(ones(inputs * outputs)), 0, 0, 0]
      const numbers = frame.read(Float64Array.of(rows, inputs, outputs, 0, 0, 0, 0, 0))
      exports.run(LINEAR, sums.length, frame.pointers(operands), 0, numbers)
    })
    expect(sums.every((value) => value === inputs)).toBe(true)
    heap.close()
  })

  it('end the executor with a coded error if one traps inside an operation', async () => {
    const { module } = await loadModule('float32', undefined, true)
    const instance = await instantiateWithThreads(module, 1)
    // A stack of 64 bytes, from the address 0 on, overflows in the first operation.
    const allocate = () => 64 - 2 ** 18
    const { memory } = instance.exports
    const workers = await startThreads(module, memory, { ...instance.exports, allocate }, 1)
    const stop = vi.fn(() => workers.stop())
    const run = () => {
      const heap = new WasmHeap({ ...instance, threads: 2, stop }, 'float32')
      const [rows, inputs, outputs] = [64, 512, 512]
      for (;;) {
        heap.call('multiply', (frame, exports) => {
          const places = [rows * outputs, rows * inputs, inputs * outputs].map((count) => frame.place(4 * count))
          const numbers = frame.read(Float64Array.of(rows, inputs, outputs, 0, 0, 0, 0, 0))
          exports.run(LINEAR, rows * outputs, frame.pointers([...places, 0, 0, 0]), 0, numbers)
        })
      }
    }
    expect(run).toThrow(coded('ERR_WASM_ENDED'))
    expect(stop).toHaveBeenCalledOnce()
  })

  it('refuse operations after that, until the executor is opened again', async () => {
    const { module } = await loadModule('float32', undefined, true)
    const heap = new WasmHeap(await instantiateWithThreads(module, 2), 'float32')
    const interrupt = () =>
      heap.call('test', (_, exports) => {
        exports.markThreadFailed()
        exports.networkParamsSize(-1)
      })
    expect(interrupt).toThrow(coded('ERR_WASM_ENDED'))
    expect(() => heap.exports).toThrow(coded('ERR_WASM_ENDED'))
    expect(() => heap.allocate(8)).toThrow(coded('ERR_WASM_ENDED'))
  })
})

const here = fileURLToPath(new URL('.', import.meta.url))

describe('a process', () => {
  const PROGRAM = `
import { openWasmBackend } from '../src/index.js'
const backend = await openWasmBackend({ threads: 2 })
const [rows, inputs] = [64, 64]
const input = backend.tensor({ data: new Float32Array(rows * inputs).fill(1), shape: [rows, inputs] })
const kernel = backend.tensor({ data: new Float32Array(inputs * inputs).fill(1), shape: [inputs, inputs] })
const output = backend.ops.linear(input, kernel, backend.zeros([inputs]))
console.log((await output.read()).data[0], backend.reason.includes('2 threads'))
`
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(here, '../.process_end-'))
    await bundleProgram({ contents: PROGRAM, resolveDir: here }, join(folder, 'program.mjs'))
    return () => rm(folder, { recursive: true, force: true })
  })

  it('ends with 0 when it has disposed nothing', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'program.mjs')], {
      encoding: 'utf8',
      timeout: 50_000,
      killSignal: 'SIGKILL',
    })
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '64 true\n', stderr: '' })
  })
})
