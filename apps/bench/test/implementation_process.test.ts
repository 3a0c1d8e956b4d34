import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ImplementationProcess } from '../src/implementation_process.js'

const script = fileURLToPath(new URL('./silent_implementation.mjs', import.meta.url))
const start = (behavior: string) => ImplementationProcess.start({ command: process.execPath, args: [script, behavior] })

async function started(): Promise<ImplementationProcess> {
  const implementation = await start('obedient')
  if (typeof implementation === 'string') throw new Error(implementation)
  return implementation
}

describe('ImplementationProcess.start', () => {
  it('takes version and detail from the greeting, past the output of a library', async () => {
    const implementation = await started()
    expect([implementation.version, implementation.detail]).toEqual(['1.2.3', 'as if'])
    implementation.stop()
  })

  it('reports why an implementation does not take part', async () => {
    expect(await start('absent')).toBe('no such library')
    expect(await start('crashing')).toBe('Segmentation fault')
    expect(await ImplementationProcess.start({ command: '/nowhere/python', args: [] })).toContain('ENOENT')
  })
})

describe('ImplementationProcess.request', () => {
  it('resolves with the answer', async () => {
    const implementation = await started()
    expect(await implementation.request('run', { sliceMs: 1, warmUp: false })).toEqual({ times: [1, 2] })
    implementation.stop()
  })

  it('throws what went wrong in the process, and when it ends', async () => {
    const implementation = await started()
    await expect(implementation.request('release', {})).rejects.toMatchObject({
      code: 'ERR_IMPLEMENTATION',
      message: 'Cannot release',
    })
    await expect(implementation.request('prepare', {} as never)).rejects.toMatchObject({ message: 'its process ended' })
  })
})
