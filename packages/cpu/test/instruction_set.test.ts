import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { INSTRUCTION_SETS, type InstructionSet, openCpuBackend } from '../src/index.js'
import { chooseInstructionSet } from '../src/instruction_set.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

const refused = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    return error as Error & { code: string }
  }
  throw new Error('nothing was thrown')
}

describe('chooseInstructionSet', () => {
  it('takes the best one, or the one that was requested', () => {
    expect(chooseInstructionSet(undefined, ['avx2', 'portable'])).toBe('avx2')
    expect(chooseInstructionSet('portable', ['avx2', 'portable'])).toBe('portable')
  })

  it('gives none where the processor lacks it', () => {
    expect(chooseInstructionSet('neon', ['avx2', 'portable'])).toBeUndefined()
  })
})

describe('openCpuBackend', () => {
  it('refuses an instruction set that does not exist', () => {
    expect(() => openCpuBackend({ instructionSet: 'sse9' as InstructionSet })).toThrow(
      coded('ERR_INVALID_OPTION', { option: 'instructionSet', value: 'sse9' }),
    )
  })
})

const supported = instructionSetsUnderTest('instructionSet')

describe.skipIf(supported.length === 0)('openCpuBackend with instructionSet', () => {
  it('names the chosen one in its reason', () => {
    for (const instructionSet of supported) {
      using backend = openCpuBackend({ instructionSet, threads: 1 })
      expect(backend.reason).toBe(`cpu: ${instructionSet}, float32, 1 thread`)
    }
  })

  it('is unavailable with one that this processor lacks', () => {
    for (const instructionSet of INSTRUCTION_SETS.filter((name) => !supported.includes(name))) {
      const error = refused(() => openCpuBackend({ instructionSet }))
      expect(error.code).toBe('ERR_BACKEND_UNAVAILABLE')
      expect(error.message).toContain(`no ${instructionSet}, but ${supported.join(', ')}`)
    }
  })
})
