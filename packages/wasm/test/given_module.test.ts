import { moduleBytes } from '@cudnn-rnn/native-wasm/simd128'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { decode } from '../src/load_module.js'
import { openWasmBackend } from '../src/slim.js'

const bytes = await decode(moduleBytes)
const served = () => new Response(bytes, { headers: { 'content-type': 'application/wasm' } })
const EMPTY_MODULE = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0)

afterEach(() => {
  vi.restoreAllMocks()
})

describe('openWasmBackend of the slim entry', () => {
  it.each([
    ['a Uint8Array', () => bytes],
    ['an ArrayBuffer', () => bytes.buffer],
    ['a Response', served],
    ['a promise of a Response', async () => served()],
    ['a compiled module', () => WebAssembly.compile(bytes)],
  ])('takes %s', async (_, module) => {
    using backend = await openWasmBackend({ module: module(), threads: 1 })
    expect(backend.reason).toBe('wasm: given module, float32, 1 thread')
    const product = backend.ops.linear(
      { data: Float32Array.of(1, 2), shape: [1, 2] },
      { data: Float32Array.of(3, 4), shape: [2, 1] },
      backend.zeros([1]),
    )
    expect((await product.read()).data).toEqual(Float32Array.of(11))
  })

  it('fetches a URL', async () => {
    const url = new URL('https://page.example/simd128.wasm')
    const request = vi.spyOn(globalThis, 'fetch').mockResolvedValue(served())
    using backend = await openWasmBackend({ module: url, threads: 1 })
    expect(backend.name).toBe('wasm')
    expect(request.mock.calls).toEqual([[url]])
  })

  it('computes on threads, except with a module that was compiled elsewhere, and leaves the bytes as they were', async () => {
    const before = bytes.slice()
    using backend = await openWasmBackend({ module: bytes, threads: 2 })
    expect(backend.reason).toMatch(/, (2 threads|1 thread \(the page is not cross-origin isolated\))$/)
    expect(bytes).toEqual(before)
    using alone = await openWasmBackend({ module: await WebAssembly.compile(bytes), threads: 2 })
    expect(alone.reason).toMatch(/, 1 thread \(a compiled module has no threads\)$/)
  })

  it.each([
    ['a page in place of the file', () => new Response('<!doctype html>'), /no WebAssembly/],
    ['no bytes', () => new Uint8Array(), /no WebAssembly/],
    ['the status 404', () => new Response('none', { status: 404 }), /the server answered 404/],
    ['a failed request', () => Promise.reject(new TypeError('Failed to fetch')), /Failed to fetch/],
  ])('reports %s as unavailable, so that "auto" takes the next executor', async (_, module, message) => {
    const refused = openWasmBackend({ module: module(), threads: 1 })
    await expect(refused).rejects.toThrow(coded('ERR_BACKEND_UNAVAILABLE'))
    await expect(refused).rejects.toThrow(message)
  })

  it.each([1, 2])('refuses a module of something else on %d threads', async (threads) => {
    const refused = openWasmBackend({ module: EMPTY_MODULE, threads })
    await expect(refused).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  })

  it('refuses a module of another element type on threads', async () => {
    const refused = openWasmBackend({ module: bytes, dtype: 'float64', threads: 2 })
    await expect(refused).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  })

  it.each([undefined, 'simd128.wasm', 1, {}, [], Promise.resolve(1)])('refuses the module %o', async (module) => {
    const refused = openWasmBackend({ module: module as never })
    await expect(refused).rejects.toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })
})
