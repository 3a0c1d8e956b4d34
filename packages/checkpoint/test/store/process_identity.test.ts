import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createOwnerToken, type Owner, ownerState, parseOwnerToken } from '../../src/store/process_identity.js'

/** The owner of a token that was just made here. */
const self = (): Owner => {
  const owner = parseOwnerToken(createOwnerToken())
  if (owner === undefined) throw new Error('its own token is not parsed')
  return owner
}

/** A process that waits until it is ended. */
function waiting(): ChildProcess & { readonly pid: number } {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child as ChildProcess & { readonly pid: number }
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'close')
}

describe('createOwnerToken', () => {
  it('names this process, and is another one each time', () => {
    const tokens = [createOwnerToken(), createOwnerToken()]
    expect(new Set(tokens).size).toBe(2)
    const [first, second] = tokens.map((token) => parseOwnerToken(token))
    expect(first).toMatchObject({ token: tokens[0], pid: process.pid })
    expect({ ...second, token: '' }).toEqual({ ...first, token: '' })
  })
})

describe('parseOwnerToken', () => {
  const random = '0123456789abcdef0123456789abcdef'

  it('reads host, process, thread and start', () => {
    const token = `0badcafe-12-34-5678-${random}`
    expect(parseOwnerToken(token)).toEqual({ token, host: '0badcafe', pid: 12, thread: 34, start: 5678 })
  })

  it.each([
    '',
    'model',
    random,
    `0badcaf-12-34-5678-${random}`,
    `0BADCAFE-12-34-5678-${random}`,
    `0badcafe-12-34-${random}`,
    `0badcafe--12-34-5678-${random}`,
    `0badcafe-12-34-5678-${random}0`,
    `0badcafe-12-34-5678-${random.slice(1)}`,
    `0badcafe-12345678901-34-5678-${random}`,
    ` 0badcafe-12-34-5678-${random}`,
    `0badcafe-12-34-5678-${random}\n`,
  ])('is undefined for %j', (text) => {
    expect(parseOwnerToken(text)).toBeUndefined()
  })
})

describe('ownerState', () => {
  it('is running for this thread', () => {
    expect(ownerState(self())).toBe('running')
  })

  it('is unknown on another host, also for the id of a process that runs here', () => {
    expect(ownerState({ ...self(), host: '00000000' })).toBe('unknown')
  })

  it('is ended where this process has the id of an earlier one', () => {
    const owner = self()
    expect(ownerState({ ...owner, start: owner.start + 1 })).toBe('ended')
  })

  it('is unknown for a process that runs and whose start was not known', () => {
    const { pid } = waiting()
    expect(ownerState({ ...self(), pid, thread: 0, start: 0 })).toBe('unknown')
  })

  it('is ended for a process that ended, whether its start was known or not', async () => {
    const child = waiting()
    await end(child)
    for (const start of [0, 12_345])
      expect(ownerState({ ...self(), pid: child.pid, thread: child.pid, start })).toBe('ended')
  })

  it.skipIf(process.platform !== 'linux')('follows another process by the start of its thread', async () => {
    const child = waiting()
    const stat = readFileSync(`/proc/${child.pid}/stat`, 'latin1')
    // proc(5): field 22 of all, the 20th behind the command.
    const start = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
    const owner = { ...self(), pid: child.pid, thread: child.pid, start }
    expect(ownerState(owner)).toBe('running')
    expect(ownerState({ ...owner, start: start - 1 })).toBe('ended')
    // Its main thread alone has this id.
    expect(ownerState({ ...owner, thread: child.pid + 1_000_000 })).toBe('ended')
    await end(child)
    expect(ownerState(owner)).toBe('ended')
  })
})
