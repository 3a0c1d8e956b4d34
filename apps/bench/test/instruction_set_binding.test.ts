import { describe, expect, it } from 'vitest'
import { implementationLaunch } from '../src/implementation_process.js'
import { BASELINES, executorImplementation } from '../src/implementation_table.js'
import { bindingNote } from '../src/instruction_set_binding.js'

const baseline = (name: string) => BASELINES.find((each) => each.name === name)!
const avx2 = { python: 'python3', instructionSet: 'avx2' } as const

describe('implementationLaunch with an instruction set', () => {
  it('gives it to our executors as an argument and to the baselines as environment variables', () => {
    expect(implementationLaunch(executorImplementation('cpu'), 2, 'float32', avx2).args.slice(1)).toEqual([
      ...['cpu', '2', 'float32', 'avx2'],
    ])
    expect(implementationLaunch(baseline('pytorch'), 2, 'float32', avx2).env).toMatchObject({
      ATEN_CPU_CAPABILITY: 'avx2',
      ONEDNN_MAX_CPU_ISA: 'AVX2',
      MKL_ENABLE_INSTRUCTIONS: 'AVX2',
    })
  })

  it('leaves everything alone if none is named', () => {
    const free = { python: undefined, instructionSet: undefined }
    for (const implementation of [executorImplementation('cpu'), ...BASELINES]) {
      const { args, env } = implementationLaunch(implementation, 1, 'float32', free)
      expect(args.slice(-3)).toEqual([implementation.name, '1', 'float32'])
      expect(env).toEqual({})
    }
  })
})

describe('bindingNote', () => {
  it('names the baselines that cannot be held to it', () => {
    const unbound = BASELINES.filter((each) => bindingNote(each, 'avx2') !== undefined).map(({ name }) => name)
    expect(unbound).toEqual(['onnxruntime', 'onnxruntime_int8'])
    expect(bindingNote(baseline('onnxruntime'), 'avx2')).toContain('not held to avx2')
    expect(bindingNote(baseline('onnxruntime'), undefined)).toBeUndefined()
  })
})
