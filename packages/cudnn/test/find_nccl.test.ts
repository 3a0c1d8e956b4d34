import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { findNccl } from '../src/nccl/find_nccl.js'
import type { NativeAddon } from '../src/sys/native_addon.js'

const folder = mkdtempSync(join(tmpdir(), 'nccl-'))
const file = join(folder, 'libnccl.so.2')
writeFileSync(file, '')
afterAll(() => rmSync(folder, { recursive: true }))

/** A loader that opens the library of the folder only; `version` is NCCL's, or the error of its symbols. */
const loader = (version: number | Error) =>
  ({
    openLibrary: (path: string) => (path === file ? {} : { error: `${path}: cannot open shared object file` }),
    ncclVersion() {
      if (typeof version === 'number') return version
      throw version
    },
  }) as unknown as NativeAddon

it('findNccl takes the library of the folder that is named, and reads its release', () => {
  expect(findNccl(loader(22_707), folder)).toEqual({ file, version: '2.27.7' })
})

it('findNccl passes over a release that lacks a function, and names both', () => {
  const old = Object.assign(new Error('nccl'), { statusName: 'it has no ncclCommInitRankConfig' })
  expect(() => findNccl(loader(old), folder)).toThrow(
    expect.objectContaining({
      code: 'ERR_BACKEND_UNAVAILABLE',
      message: expect.stringContaining(`${file}: it has no ncclCommInitRankConfig; nccl: libnccl.so.2: cannot open`),
    }),
  )
})
