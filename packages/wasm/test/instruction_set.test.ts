import { moduleBytes as relaxed } from '@cudnn-rnn/native-wasm/relaxed'
import { moduleBytes as relaxed64 } from '@cudnn-rnn/native-wasm/relaxed_float64'
import { moduleBytes as simd128 } from '@cudnn-rnn/native-wasm/simd128'
import { moduleBytes as simd12864 } from '@cudnn-rnn/native-wasm/simd128_float64'
import { describe, expect, it, vi } from 'vitest'
import { hasInstructionSet } from '../src/instruction_set.js'
import { decode } from '../src/load_module.js'

describe('hasInstructionSet', () => {
  it.each([
    ['relaxed-simd', relaxed],
    ['relaxed-simd', relaxed64],
    ['simd128', simd128],
    ['simd128', simd12864],
  ] as const)('reports for %s whether the engine takes its module', async (set, text) => {
    expect(hasInstructionSet(set)).toBe(WebAssembly.validate(await decode(text)))
  })

  it('finds none in an engine without WebAssembly', () => {
    vi.stubGlobal('WebAssembly', undefined)
    expect(hasInstructionSet('simd128')).toBe(false)
    vi.unstubAllGlobals()
  })
})
