import { moduleBytes as relaxed } from '@cudnn-rnn/native-wasm/relaxed'
import { moduleBytes as relaxed64 } from '@cudnn-rnn/native-wasm/relaxed_float64'
import { moduleBytes as simd128 } from '@cudnn-rnn/native-wasm/simd128'
import { moduleBytes as simd12864 } from '@cudnn-rnn/native-wasm/simd128_float64'
import { describe, expect, it, vi } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { hasInstructionSet } from '../src/instruction_set.js'
import { decode, loadModule } from '../src/load_module.js'

describe('hasInstructionSet', () => {
  it.each([
    ['relaxed-simd', relaxed],
    ['relaxed-simd', relaxed64],
    ['simd128', simd128],
    ['simd128', simd12864],
  ] as const)('reports for %s whether the engine takes its module', async (set, text) => {
    expect(hasInstructionSet(set)).toBe(WebAssembly.validate(await decode(text)))
  })

  it.each([undefined, 'avx2', 1, [], '__proto__'])('refuses the name %o', (name) => {
    expect(() => hasInstructionSet(name as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })

  it('finds none in an engine without WebAssembly', () => {
    vi.stubGlobal('WebAssembly', undefined)
    expect(hasInstructionSet('simd128')).toBe(false)
    vi.unstubAllGlobals()
  })
})

describe('loadModule', () => {
  it('compiles a module once for concurrent and later requests', async () => {
    const loaded = await Promise.all([loadModule('float64', 'simd128'), loadModule('float64', 'simd128')])
    expect(loaded[0].module).toBe(loaded[1].module)
    expect(loaded[0].instructionSet).toBe('simd128')
    expect((await loadModule('float32', 'simd128')).module).not.toBe(loaded[0].module)
  })

  it('gives the module of threads a shared memory, and changes nothing else', async () => {
    const [own, shared] = [await loadModule('float32', 'simd128'), await loadModule('float32', 'simd128', true)]
    expect(shared.module).not.toBe(own.module)
    const namesOf = (module: WebAssembly.Module) => WebAssembly.Module.exports(module).map(({ name }) => name)
    expect(namesOf(shared.module)).toEqual(namesOf(own.module))
    const memory = new WebAssembly.Memory({ initial: 16, maximum: 65_536 })
    const imports = { env: { memory, now: () => 0 } }
    expect(() => new WebAssembly.Instance(own.module, imports)).not.toThrow()
    expect(() => new WebAssembly.Instance(shared.module, imports)).toThrow(WebAssembly.LinkError)
  })

  it('refuses an instruction set that the engine does not have, with the versions that do', async () => {
    vi.spyOn(WebAssembly, 'validate').mockReturnValue(false)
    try {
      for (const asked of ['relaxed-simd', undefined] as const) {
        await expect(loadModule('float32', asked)).rejects.toMatchObject({
          code: 'ERR_BACKEND_UNAVAILABLE',
          message: expect.stringContaining(asked ?? 'SIMD of WebAssembly'),
          advice: expect.stringContaining('Chrome 91'),
        })
      }
    } finally {
      vi.restoreAllMocks()
    }
  })
})
