import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ContestantProcess } from '../src/contestant_process.js'

const script = fileURLToPath(new URL('./silent_contestant.mjs', import.meta.url))
const start = (behaviour: string) => ContestantProcess.start({ command: process.execPath, args: [script, behaviour] })

async function started(): Promise<ContestantProcess> {
  const contestant = await start('obedient')
  if (typeof contestant === 'string') throw new Error(contestant)
  return contestant
}

describe('ContestantProcess.start', () => {
  it('takes version and detail from the greeting, past whatever a library prints', async () => {
    const contestant = await started()
    expect([contestant.version, contestant.detail]).toEqual(['1.2.3', 'as if'])
    contestant.stop()
  })

  it('says why a contestant does not take part', async () => {
    expect(await start('absent')).toBe('no such library')
    expect(await start('crashing')).toBe('Segmentation fault')
    expect(await ContestantProcess.start({ command: '/nowhere/python', args: [] })).toContain('ENOENT')
  })
})

describe('ContestantProcess.request', () => {
  it('resolves with the answer', async () => {
    const contestant = await started()
    expect(await contestant.request('run', { sliceMs: 1, warmUp: false })).toEqual({ times: [1, 2] })
    contestant.stop()
  })

  it('throws what went wrong in the process, and when it ends', async () => {
    const contestant = await started()
    await expect(contestant.request('release', {})).rejects.toMatchObject({
      code: 'ERR_CONTESTANT',
      message: 'Cannot release',
    })
    await expect(contestant.request('memory', {})).rejects.toMatchObject({ message: 'its process ended' })
  })
})
