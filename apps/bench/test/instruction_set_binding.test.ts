import { describe, expect, it } from 'vitest'
import { implementationLaunch } from '../src/implementation_process.js'
import { executorImplementation, PEERS } from '../src/implementation_table.js'
import { bindingNote } from '../src/instruction_set_binding.js'

const peer = (name: string) => PEERS.find((each) => each.name === name)!
const avx2 = { python: 'python3', instructionSet: 'avx2' } as const

describe('implementationLaunch with an instruction set', () => {
  it('gives it to our executors as an argument and to the peers as environment variables', () => {
    expect(implementationLaunch(executorImplementation('cpu'), 2, 'float32', avx2).args.slice(1)).toEqual([
      ...['cpu', '2', 'float32', 'avx2'],
    ])
    expect(implementationLaunch(peer('pytorch'), 2, 'float32', avx2).env).toMatchObject({
      ATEN_CPU_CAPABILITY: 'avx2',
      ONEDNN_MAX_CPU_ISA: 'AVX2',
      MKL_ENABLE_INSTRUCTIONS: 'AVX2',
    })
  })

  it('leaves everything alone where none is named', () => {
    const free = { python: undefined, instructionSet: undefined }
    for (const implementation of [executorImplementation('cpu'), ...PEERS]) {
      const { args, env } = implementationLaunch(implementation, 1, 'float32', free)
      expect(args.slice(-3)).toEqual([implementation.name, '1', 'float32'])
      expect(env).toEqual({})
    }
  })
})

describe('bindingNote', () => {
  it('names the peers that cannot be held to it', () => {
    const unbound = PEERS.filter((each) => bindingNote(each, 'avx2') !== undefined).map(({ name }) => name)
    expect(unbound).toEqual(['onnxruntime', 'tfjs-wasm', 'tfjs-cpu'])
    expect(bindingNote(peer('onnxruntime'), 'avx2')).toContain('not held to avx2')
    expect(bindingNote(peer('onnxruntime'), undefined)).toBeUndefined()
  })
})
