import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { latestCheckpoint, readCheckpointState, resolvePath } from '@cudnn-rnn/checkpoint'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Saver } from '../src/index.js'
import { savedTensors, stepOf } from './saved_tensors.js'

const SAVES = 200
const KIBIBYTES = 64

const here = fileURLToPath(new URL('.', import.meta.url))
const folder = await mkdtemp(join(tmpdir(), 'crash-'))
const program = join(folder, 'saving_process.mjs')

beforeAll(async () => {
  // Another user must be able to read it.
  await chmod(folder, 0o755)
  await build({
    entryPoints: [join(here, 'saving_process.ts')],
    outfile: program,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    alias: Object.fromEntries(
      ['canonical', 'checkpoint'].map((name) => [`@cudnn-rnn/${name}`, join(here, `../../${name}/src/index.ts`)]),
    ),
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)" },
  })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Restores a checkpoint and compares every bit with what its step must have saved. */
async function checkRestores(prefix: string) {
  const step = stepOf(prefix)
  const { saveables, restored } = savedTensors(KIBIBYTES, 0)
  await new Saver(saveables).restore(prefix)
  const expected = new Map<string, Float32Array>()
  for (const saveable of savedTensors(KIBIBYTES, step).saveables) {
    for (const [name, { data }] of await saveable.tensors('default')) expected.set(name, data as Float32Array)
  }
  for (const [name, data] of expected) {
    expect(Buffer.compare(bytesOf(restored.get(name)!.data as Float32Array), bytesOf(data))).toBe(0)
  }
  return step
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

/** The step of the last `saved` line, and whether the program is still running when enough were seen. */
async function killAfter(child: ChildProcess, saves: number, milliseconds: number): Promise<number> {
  let output = ''
  let [seen, last] = [0, 0]
  const enough = new Promise<void>((resolve) => {
    child.stdout!.on('data', (chunk) => {
      output += chunk
      const lines = output.split('\n')
      output = lines.pop()!
      for (const line of lines) {
        expect(line).toMatch(/^saved \d+$/)
        last = Number(line.slice('saved '.length))
        if (++seen === saves) resolve()
      }
    })
  })
  const closed = once(child, 'close')
  await Promise.race([enough, closed])
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
  expect(child.kill('SIGKILL')).toBe(true)
  expect((await closed)[1]).toBe('SIGKILL')
  return last
}

describe('Saver.save', () => {
  it(`is complete or absent when the process is killed at any moment, over ${SAVES} saves`, async () => {
    const directory = join(folder, 'killed')
    const prefix = join(directory, 'model')
    let acknowledged = 0
    for (let round = 0; acknowledged < SAVES; round++) {
      const child = spawn(process.execPath, [program, prefix, String(KIBIBYTES)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      // From 1 to 9 saves and then a part of the next.
      acknowledged = Math.max(acknowledged, await killAfter(child, 1 + (round % 9), (round * 7.3) % 12))
      const latest = await latestCheckpoint(directory)
      expect(await checkRestores(latest!)).toBeGreaterThanOrEqual(acknowledged)
      const { allModelCheckpointPaths = [] } = (await readCheckpointState(directory)) ?? {}
      for (const path of allModelCheckpointPaths) await checkRestores(resolvePath(directory, path))
    }
  })

  describe.skipIf(process.platform === 'win32')('leaves the checkpoint before as it was, with a coded error', () => {
    /** Saves twice, then lets the program fail; nothing but the two checkpoints may be there after it. */
    async function failing(name: string, start: (prefix: string) => ChildProcess): Promise<string> {
      const directory = join(folder, name)
      await mkdir(directory, { mode: 0o755 })
      const prefix = join(directory, 'model')
      for (const step of [1, 2])
        await new Saver(savedTensors(KIBIBYTES, step).saveables).save(prefix, { globalStep: step })
      const before = await readdir(directory)
      const child = start(prefix)
      let output = ''
      child.stdout!.on('data', (chunk) => {
        output += chunk
      })
      await once(child, 'close')
      expect((await readdir(directory)).sort()).toEqual(before.sort())
      expect(await checkRestores((await latestCheckpoint(directory))!)).toBe(2)
      expect(await checkRestores(`${prefix}-1`)).toBe(1)
      return output
    }

    it('on a file system that takes no more bytes', async () => {
      // A limit of 512-byte or 1024-byte blocks on the size of a file fails like a full disk: in the midst of a write.
      const output = await failing('full', (prefix) =>
        spawn('sh', ['-c', `ulimit -f 100; exec "${process.execPath}" "${program}" "${prefix}" 1024`]),
      )
      expect(output).toBe('failed ERR_CHECKPOINT_IO\n')
    })

    it('in a directory that may not be written', async () => {
      // Root may write anywhere: then the program runs as nobody.
      const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
      const output = await failing('forbidden', (prefix) => {
        chmodSync(dirname(prefix), 0o555)
        return spawn(process.execPath, [program, prefix], nobody)
      })
      expect(output).toBe('failed ERR_CHECKPOINT_IO\n')
      await chmod(join(folder, 'forbidden'), 0o755)
    })
  })

  it('is refused where a file stands in the place of the directory', async () => {
    const path = join(folder, 'file')
    await writeFile(path, 'not a directory')
    const { saveables } = savedTensors(1, 1)
    await expect(new Saver(saveables).save(join(path, 'model'))).rejects.toThrow(
      expect.objectContaining({ code: 'ERR_CHECKPOINT_IO' }),
    )
  })
})
