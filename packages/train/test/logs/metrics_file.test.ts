import { execFileSync } from 'node:child_process'
import { appendFile, mkdtemp, open, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { MetricsFile, readMetrics, type StepReport } from '../../src/index.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'train-metrics-'))
})
afterEach(() => rm(folder, { recursive: true }))

const report = (step: number, loss = 1 / step): StepReport => ({
  step,
  loss,
  learningRate: 0.1,
  gradientNorm: Number.POSITIVE_INFINITY,
  skipped: false,
  seconds: 0.5,
})

it('MetricsFile holds every step once, although the process died in between', async () => {
  const path = join(folder, 'run', 'metrics.jsonl')
  const first = await MetricsFile.open(path)
  for (const step of [1, 2, 3]) await first.write(report(step))
  await first.close()
  await appendFile(path, '{"step":4,"lo')
  const second = await MetricsFile.open(path, 2)
  for (const step of [3, 4]) await second.write(report(step, Number.NaN))
  await second.close()
  expect(await readMetrics(path)).toEqual([report(1), report(2), report(3, Number.NaN), report(4, Number.NaN)])
  expect((await readFile(path, 'utf8')).split('\n')).toHaveLength(5)
})

it('MetricsFile.write completes a short write, and leaves no part of a line that fails', async () => {
  const path = join(folder, 'metrics.jsonl')
  const file = await MetricsFile.open(path)
  await file.write(report(1))
  const other = await open(path, 'r')
  const prototype = Object.getPrototypeOf(other) as { write: (...args: unknown[]) => Promise<object> }
  await other.close()
  const write = prototype.write
  let calls = 0
  const stub = vi.spyOn(prototype, 'write').mockImplementation(async function (this: unknown, ...args: unknown[]) {
    const [bytes, offset] = args as [Uint8Array, number]
    if (++calls > 3)
      throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC', syscall: 'write' })
    // Two calls for the first line; half of the second, and then no more.
    return await write.call(this, bytes, offset, Math.min(bytes.length - offset, calls === 2 ? 1000 : 20))
  })
  try {
    await file.write(report(2))
    expect(calls).toBe(2)
    await expect(file.write(report(3))).rejects.toThrow(coded('ERR_LOG_IO', { path }))
    expect(calls).toBe(4)
  } finally {
    stub.mockRestore()
  }
  await file.write(report(4))
  await file.close()
  expect(await readMetrics(path)).toEqual([report(1), report(2), report(4)])
})

it('readMetrics finds nothing where no file is', async () => {
  expect(await readMetrics(join(folder, 'none'))).toEqual([])
})

it.runIf(process.platform !== 'win32')(
  'MetricsFile refuses a symbolic link and leaves its target as it is',
  async () => {
    const [path, target] = [join(folder, 'metrics.jsonl'), join(folder, 'target')]
    await writeFile(target, 'precious')
    await symlink(target, path)
    await expect(MetricsFile.open(path)).rejects.toMatchObject({ code: 'ERR_LOG_IO', path })
    expect(await readFile(target, 'utf8')).toBe('precious')
  },
)

it('MetricsFile and readMetrics refuse a line that is not a step, with a code', async () => {
  const path = join(folder, 'metrics.jsonl')
  for (const line of ['no json', 'null', '{"loss":1}']) {
    await writeFile(path, `${JSON.stringify(report(1))}\n${line}\n`)
    await expect(MetricsFile.open(path, 9)).rejects.toMatchObject({ code: 'ERR_LOG_DAMAGED', path })
    await expect(readMetrics(path)).rejects.toMatchObject({ code: 'ERR_LOG_DAMAGED', path })
  }
})

it('MetricsFile names the path and the error of the system', async () => {
  const file = join(folder, 'file')
  await writeFile(file, '')
  for (const path of [folder, join(file, 'metrics.jsonl')]) {
    await expect(MetricsFile.open(path)).rejects.toMatchObject({
      code: 'ERR_LOG_IO',
      path,
      cause: expect.objectContaining({ syscall: expect.any(String) }),
    })
  }
})

it.runIf(process.platform === 'linux')(
  'readMetrics and MetricsFile.open refuse files that may never end or begin',
  async () => {
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    for (const path of ['/dev/zero', pipe]) {
      const refused = coded('ERR_LOG_IO', { path, message: expect.stringContaining('not a regular file') })
      await expect(readMetrics(path)).rejects.toThrow(refused)
      await expect(MetricsFile.open(path)).rejects.toThrow(refused)
    }
  },
)
