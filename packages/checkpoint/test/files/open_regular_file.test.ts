import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readRegularFile } from '../../src/files/index.js'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'cudnn-rnn-files-'))
})
afterAll(() => rm(directory, { recursive: true }))

it('readRegularFile reads a file, and names the error of the system', async () => {
  await writeFile(join(directory, 'a'), 'text')
  expect(String(await readRegularFile(join(directory, 'a')))).toBe('text')
  await expect(readRegularFile(join(directory, 'none'))).rejects.toThrow('ENOENT')
  await expect(readRegularFile(directory)).rejects.toThrow('it is a directory')
})

it.runIf(process.platform === 'linux')('readRegularFile rejects files that may never end or begin', async () => {
  const pipe = join(directory, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const path of ['/dev/zero', '/dev/random', pipe]) {
    await expect(readRegularFile(path)).rejects.toThrow('not a regular file')
  }
  const socket = join(directory, 'socket')
  const server = createServer().listen(socket)
  await new Promise((resolve) => server.once('listening', resolve))
  // The system opens no socket.
  await expect(readRegularFile(socket)).rejects.toThrow('ENXIO')
  server.close()
})
