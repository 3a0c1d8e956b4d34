import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { BackendUnavailableError } from '@cudnn-rnn/ops'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openWasmBackend } from '../src/index.js'
import { createModuleLoader, loadModule } from '../src/load_module.js'
import { openWasm } from '../src/open_wasm.js'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('openWasmBackend', () => {
  it('reports which kernels compute', async () => {
    using backend = await openWasmBackend({ instructionSet: 'simd128', weights: 'int8', threads: 1 })
    expect(backend.reason).toBe('wasm: simd128, float32, 1 thread, int8 weights')
    expect(backend.implementation).toBe('wasm simd128, int8 weights')
  })

  it.each([
    [{ dtype: 'int8' }, 'ERR_INVALID_OPTION'],
    [{ weights: 'int4' }, 'ERR_INVALID_OPTION'],
    [{ weights: 'int8', dtype: 'float64' }, 'ERR_INVALID_OPTION'],
    [{ instructionSet: 'avx2' }, 'ERR_INVALID_OPTION'],
    [{ module: 'simd128.wasm' }, 'ERR_INVALID_OPTION_TYPE'],
    [{ threads: 0 }, 'ERR_INVALID_OPTION'],
    [{ workers: 2 }, 'ERR_UNKNOWN_OPTION'],
  ] as const)('refuses %o', async (options, code) => {
    await expect(openWasmBackend(options as never)).rejects.toThrow(coded(code))
  })

  it('takes a compiled module and compiles nothing', async () => {
    const { module } = await loadModule('float32', 'simd128')
    const compile = vi.spyOn(WebAssembly, 'compile')
    using backend = await openWasmBackend({ module })
    expect(backend.zeros([2]).shape).toEqual([2])
    expect(compile).not.toHaveBeenCalled()
  })

  it('refuses a compiled module of another element type', async () => {
    const { module } = await loadModule('float32', 'simd128')
    await expect(openWasmBackend({ module, dtype: 'float64' })).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  })

  it('names the policy where an engine may not compile, and the versions where it has no SIMD', async () => {
    // Other files of the page have let the loader of the package compile.
    const load = createModuleLoader()
    const open = () => openWasm({}, load)
    vi.spyOn(WebAssembly, 'compile').mockRejectedValue(new WebAssembly.CompileError('blocked by CSP'))
    const blocked = await open().catch((error: unknown) => error)
    expect(blocked).toMatchObject({
      code: 'ERR_BACKEND_UNAVAILABLE',
      advice: expect.stringContaining("'wasm-unsafe-eval'"),
    })
    vi.restoreAllMocks()
    vi.spyOn(WebAssembly, 'validate').mockReturnValue(false)
    const old = await open().catch((error: unknown) => error)
    expect(old instanceof BackendUnavailableError && old.advice).toMatch(/Chrome 91/)
    vi.restoreAllMocks()
    // A refusal is not remembered.
    using backend = await open()
    expect(backend.name).toBe('wasm')
  })

  it('computes after the memory of an operation has run out', async () => {
    using backend = await openWasmBackend()
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 1024, inputSize: 1 }))
    const params = backend.zeros([rnn.paramsSize])
    const pass = { inputH: null, inputC: null, params, sequenceLengths: null, training: true }
    // Its tape has 2^17 · 7 · 1024 elements, 3.7 GB.
    const long = { data: new Float32Array(2 ** 17), shape: [2 ** 15, 4, 1] }
    await expect(rnn.forward({ input: long, ...pass })).rejects.toThrow(coded('ERR_OUT_OF_MEMORY'))
    const { output, tape } = await rnn.forward({ input: { data: new Float32Array(4), shape: [4, 1, 1] }, ...pass })
    await rnn.backward(tape!, { output })
    expect((await output.read()).data.every((value) => value === 0)).toBe(true)
  })
})
