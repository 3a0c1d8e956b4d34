import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { ProcessWatch } from '../src/process_watch.js'

const fileOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const waiting = () => spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })

describe('ProcessWatch', () => {
  it('ends the children of a benchmark that was killed, and removes its folder', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-process-watch-'))
    writeFileSync(join(folder, 'operands'), '')
    const scripts = [fileOf('./dying_benchmark.mjs'), fileOf('../processes/end_with_benchmark.mjs')]
    const benchmark = spawn(process.execPath, [...scripts, folder], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [printed] = (await once(benchmark.stdout, 'data')) as [Buffer]
    const child = Number(printed.toString())
    expect(isRunning(child)).toBe(true)
    benchmark.kill('SIGKILL')
    // Until the test's own limit of time.
    while (isRunning(child) || existsSync(folder)) await sleep(20)
  })

  it('ends a child that is still watched, and leaves one alone that was not given to it', async () => {
    const watch = new ProcessWatch()
    const [watched, other] = [waiting(), waiting()]
    watch.add(watched)
    watch.stop()
    expect(await once(watched, 'exit')).toEqual([null, 'SIGKILL'])
    expect(isRunning(other.pid!)).toBe(true)
    other.kill()
  })

  it('has a folder until it is stopped', () => {
    const watch = new ProcessWatch()
    writeFileSync(join(watch.folder, 'operands'), '')
    watch.stop()
    expect(existsSync(watch.folder)).toBe(false)
  })

  it('drops a child that has ended', async () => {
    const watch = new ProcessWatch()
    const child = waiting()
    watch.add(child)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
    watch.stop()
  })
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
