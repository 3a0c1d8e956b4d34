import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { replaceFile } from '../../src/files/index.js'
import { temporaryDirectory } from './temporary_directory.js'

const READER = `
const { readFileSync } = require('node:fs')
const { workerData } = require('node:worker_threads')
const nap = new Int32Array(new SharedArrayBuffer(4))
for (;;) {
  try { readFileSync(workerData) } catch {}
  Atomics.wait(nap, 0, 0, 1)
}
`

it('replaces a file 200 times while a thread reads it every millisecond', async () => {
  const folder = await temporaryDirectory()
  const path = join(folder, 'file')
  await writeFile(path, 'old')
  const reader = new Worker(READER, { eval: true, workerData: path })
  try {
    for (let time = 0; time < 200; time++) {
      await writeFile(join(folder, 'new'), String(time))
      await replaceFile(join(folder, 'new'), path)
      expect(await readFile(path, 'utf8')).toBe(String(time))
    }
  } finally {
    await reader.terminate()
  }
})
