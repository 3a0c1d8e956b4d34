import { BackendUnavailableError } from '@cudnn-rnn/ops'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { cannotBeLoaded, compileModule } from '../src/module_bytes.js'

const MAGIC = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]
/** (import "env" "memory" (memory 1 2)); the flags of its limits, a maximum, are the byte 23. */
const IMPORT = [2, 16, 1, 3, 101, 110, 118, 6, 109, 101, 109, 111, 114, 121, 2, 1, 1, 2]
const FLAGS_AT = 23

const bytesOf = (...sections: readonly number[]) => Uint8Array.from([...MAGIC, ...sections])
/** Whether a module takes a memory of this kind. */
function takes(module: WebAssembly.Module, shared: boolean): boolean {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 2, shared })
  try {
    new WebAssembly.Instance(module, { env: { memory } })
    return true
  } catch (error) {
    if (error instanceof WebAssembly.LinkError) return false
    throw error
  }
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('compileModule', () => {
  it('gives a module the memory of one thread, and leaves its bytes', async () => {
    const bytes = bytesOf(...IMPORT)
    const before = bytes.slice()
    const module = await compileModule(bytes, false)
    expect([takes(module, false), takes(module, true)]).toEqual([true, false])
    expect(bytes).toEqual(before)
  })

  it('gives a module for threads a shared memory by one byte', async () => {
    const bytes = bytesOf(...IMPORT)
    const before = bytes.slice()
    const module = await compileModule(bytes, true)
    expect([takes(module, false), takes(module, true)]).toEqual([false, true])
    expect([...bytes.keys()].filter((at) => bytes[at] !== before[at])).toEqual([FLAGS_AT])
  })

  it('leaves a module without a memory as it is', async () => {
    const module = await compileModule(bytesOf(), true)
    expect(WebAssembly.Module.imports(module)).toEqual([])
  })

  it('names the directive of a policy that forbids to compile, and keeps the cause', async () => {
    const cause = new WebAssembly.CompileError('Refused to compile or instantiate WebAssembly module')
    vi.spyOn(WebAssembly, 'compile').mockRejectedValue(cause)
    await expect(compileModule(bytesOf(...IMPORT), false)).rejects.toThrow(
      coded('ERR_BACKEND_UNAVAILABLE', {
        message: expect.stringMatching(/this page may not compile WebAssembly.*Refused to compile/),
        advice: expect.stringContaining("'wasm-unsafe-eval' to script-src"),
        cause,
      }),
    )
  })
})

describe('cannotBeLoaded', () => {
  it.each([
    [new TypeError('Failed to fetch'), 'Failed to fetch'],
    ['a reason that is not an error', 'a reason that is not an error'],
    [undefined, 'undefined'],
  ])('is the error of an executor that is not there, with the reason %s and the advice', (cause, reason) => {
    const error = cannotBeLoaded(cause, 'Serve the file.')
    expect(error instanceof BackendUnavailableError).toBe(true)
    expect(error.advice).toBe('Serve the file.')
    expect(error.message).toContain(`its module cannot be loaded: ${reason}`)
    expect(error.cause).toBe(cause)
  })
})
