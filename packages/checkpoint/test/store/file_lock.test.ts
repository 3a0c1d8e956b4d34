import { spawn } from 'node:child_process'
import { once } from 'node:events'
import promises, { mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import os, { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { withFileLock } from '../../src/store/file_lock.js'
import { FileLock } from '../../src/index.js'
import { createOwnerToken } from '../../src/store/process_identity.js'

let directory = ''
let path = ''
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lock-'))
  path = join(directory, 'a.lock')
})
afterEach(() => rm(directory, { recursive: true }))

/** A lock file as another owner left it; `change` alters the token of this thread. */
async function leaveLock(change: (fields: string[]) => string[], notes?: string, host = 'other-host'): Promise<void> {
  const token = change(createOwnerToken().split('-')).join('-')
  await writeFile(path, [token, host, ...(notes === undefined ? [] : [notes]), ''].join('\n'))
}
const elsewhere = ([, ...rest]: string[]) => ['00000000', ...rest]
async function age(seconds: number): Promise<void> {
  const then = new Date(Date.now() - seconds * 1000)
  await utimes(path, then, then)
}
/** The id of a process that ran and ended. */
async function endedProcess(): Promise<string> {
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'close')
  return String(child.pid)
}

describe('FileLock', () => {
  it('is touched at the time of its file system where the clock of this host is an hour late', async () => {
    const before = Date.now()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'], now: before - 3_600_000 })
    try {
      await using lock = await FileLock.acquire(path)
      await age(3600)
      vi.advanceTimersByTime(10_000)
      vi.useRealTimers()
      const isTouched = async () => expect((await stat(path)).mtimeMs).toBeGreaterThan(before - 60_000)
      await vi.waitFor(isTouched, { timeout: 100_000 })
      await lock.check()
    } finally {
      vi.useRealTimers()
    }
  })

  it('is held by one at a time, and leaves nothing', async () => {
    const lock = await FileLock.acquire(path)
    await expect(FileLock.acquire(path)).rejects.toThrow(coded('ERR_CHECKPOINT_LOCKED'))
    await expect(FileLock.acquire(path)).rejects.toThrow(`process ${process.pid} on host`)
    await lock.check()
    await lock.release()
    await lock.release()
    expect(await readdir(directory)).toEqual([])
    await using again = await FileLock.acquire(path)
    await again.check()
  })

  it('runs the work of many waiting calls one after the other', async () => {
    let [inside, done] = [0, 0]
    const work = async () => {
      expect(++inside).toBe(1)
      await new Promise((resolve) => setTimeout(resolve, 2))
      inside--
      done++
    }
    const queued = Array.from({ length: 5 }, () => withFileLock(path, undefined, work))
    const waiting = Array.from({ length: 3 }, async () => {
      const lock = await FileLock.acquire(path, { wait: true })
      await work().finally(() => lock.release())
    })
    await Promise.all([...queued, ...waiting])
    expect(done).toBe(8)
    expect(await readdir(directory)).toEqual([])
  })

  it('is taken over from a process that ended, after its notes were recovered', async () => {
    const pid = await endedProcess()
    await leaveLock(([host = '', , , ...rest]) => [host, pid, pid, ...rest], 'a plan')
    const recover = vi.fn(async () => undefined)
    await using lock = await FileLock.acquire(path, { recover })
    expect(recover).toHaveBeenCalledExactlyOnceWith('a plan')
    await lock.note('mine')
    expect((await readFile(path, 'utf8')).split('\n')[2]).toBe('mine')
  })

  it.skipIf(process.platform !== 'linux')('is taken over from a process whose id another one has now', async () => {
    await leaveLock(([host = '', pid = '', thread = '', , random = '']) => [host, pid, thread, '1', random])
    await using lock = await FileLock.acquire(path)
    await lock.check()
  })

  it.skipIf(process.platform !== 'linux')('is taken over from a thread of this process that ended', async () => {
    await leaveLock(([host = '', pid = '', , start = '', random = '']) => [host, pid, '4194304', start, random])
    await using lock = await FileLock.acquire(path)
    await lock.check()
  })

  it('of another host, or one without an owner, is taken over when it has been silent for minutes', async () => {
    const leave = [() => leaveLock(elsewhere), () => writeFile(path, ''), () => writeFile(path, 'something else\n')]
    for (const [index, left] of leave.entries()) {
      await left()
      await expect(FileLock.acquire(path)).rejects.toThrow(coded('ERR_CHECKPOINT_LOCKED'))
      if (index === 0) await expect(FileLock.acquire(path)).rejects.toThrow('on host other-host')
      await age(100)
      await expect(FileLock.acquire(path)).rejects.toThrow(coded('ERR_CHECKPOINT_LOCKED'))
      await age(600)
      await (await FileLock.acquire(path)).release()
    }
    expect(await readdir(directory)).toEqual([])
  })

  it.each([
    [hostname(), 60, true],
    // The holder may run since this boot.
    [hostname(), 35, false],
    ['other-host', 60, false],
  ])(
    'of %s, silent for %i s, is taken over 30 s after the start of this computer: %s',
    async (host, silent, isTaken) => {
      vi.spyOn(os, 'uptime').mockReturnValue(30)
      syncBuiltinESMExports()
      await leaveLock(elsewhere, undefined, host)
      await age(silent)
      const acquired = FileLock.acquire(path).then((lock) => lock.release())
      if (isTaken) await acquired
      else await expect(acquired).rejects.toThrow(coded('ERR_CHECKPOINT_LOCKED'))
      vi.restoreAllMocks()
      syncBuiltinESMExports()
    },
  )

  it('is taken over once where many find it abandoned, also when one that took it over ended', async () => {
    const pid = await endedProcess()
    const ended = ([host = '', , , ...rest]: string[]) => [host, pid, pid, ...rest]
    await leaveLock(ended, 'plan')
    const token = (await readFile(path, 'utf8')).split('\n')[0]
    await writeFile(`${path}.${token}`, `${ended(createOwnerToken().split('-')).join('-')}\nhost\n`)
    let recoveries = 0
    let held = 0
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        const lock = await FileLock.acquire(path, {
          wait: true,
          recover: async () => {
            recoveries++
          },
        })
        expect(++held).toBe(1)
        await lock.check()
        held--
        await lock.release()
      }),
    )
    expect(recoveries).toBe(1)
    expect(await readdir(directory)).toEqual([])
  })

  it('notices that another took it over', async () => {
    const lock = await FileLock.acquire(path)
    await leaveLock(elsewhere)
    await expect(lock.check()).rejects.toThrow(coded('ERR_CHECKPOINT_LOCKED'))
    await lock.release()
    expect((await stat(path)).isFile()).toBe(true)
  })

  it('refuses a path that is not a regular file, and a missing directory', async () => {
    await symlink(join(directory, 'target'), path)
    await expect(FileLock.acquire(path)).rejects.toThrow(coded('ERR_CHECKPOINT_IO'))
    expect(await readdir(directory)).toEqual(['a.lock'])
    await expect(FileLock.acquire(join(directory, 'none/a.lock'))).rejects.toThrow(coded('ERR_CHECKPOINT_IO'))
  })

  it('is flushed before it is visible, so that no power failure leaves one without its owner', async () => {
    const { link, open } = promises
    const calls: string[] = []
    promises.open = async (...given: Parameters<typeof open>) => {
      const file = await open(...given)
      const sync = file.sync.bind(file)
      file.sync = () => sync().finally(() => calls.push('sync'))
      return file
    }
    promises.link = (...given) => {
      calls.push('link')
      return link(...given)
    }
    syncBuiltinESMExports()
    try {
      await (await FileLock.acquire(path)).release()
    } finally {
      Object.assign(promises, { link, open })
      syncBuiltinESMExports()
    }
    expect(calls).toEqual(['sync', 'link'])
  })

  it('works on file systems without hard links', async () => {
    const { link } = promises
    promises.link = () => Promise.reject(Object.assign(new Error('EPERM'), { code: 'EPERM', syscall: 'link' }))
    syncBuiltinESMExports()
    try {
      await using lock = await FileLock.acquire(path)
      await lock.check()
      await expect(FileLock.acquire(path)).rejects.toThrow(coded('ERR_CHECKPOINT_LOCKED'))
    } finally {
      promises.link = link
      syncBuiltinESMExports()
    }
    expect(await readdir(directory)).toEqual([])
  })
})
