import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CALLS } from '../fuzz/file_calls.js'
import type { Fault } from '../fuzz/file_faults.js'
import { failEveryCall, killAtEveryCall, killAtRandom } from '../fuzz/save_faults.js'
import { contentsOf, latestStep, SCENARIOS, type ScenarioName, saveStep } from '../fuzz/save_scenarios.js'
import { savedTensors } from '../fuzz/saved_tensors.js'
import { Saver } from '../src/index.js'

const { CUDNN_RNN_TESTS: extent } = process.env
/** `npm run test:all` kills at every second call and fails each one; `fuzz/saves.mjs` does both at every one. */
const isWhole = extent === 'all'
/** Every so many-th call of a save kills it. */
const STRIDE = isWhole ? 2 : 11
/** Every so many-th of the 4 to 12 calls of one kind fails. */
const FAULT_STRIDE = isWhole ? 1 : 2
const KILLS = isWhole ? 10 : 2

const BOTH: ScenarioName[] = ['a new prefix', 'a prefix without a step, again']
/** Other releases of Node.js, with CUDNN_RNN_TESTS=covering, save in the second one, which replaces files. */
const scenarios = extent === 'covering' ? BOTH.slice(1) : BOTH

const folder = await mkdtemp(join(tmpdir(), 'crash-'))
const program = join(folder, 'saving_program.mjs')

beforeAll(async () => {
  // Another user must be able to read it.
  await chmod(folder, 0o755)
  await bundleProgram(fileURLToPath(new URL('../fuzz/saving_program.ts', import.meta.url)), program)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('Saver.save', () => {
  describe.each(scenarios)('leaves the old checkpoint or the new one, and nothing that is not listed: %s', (name) => {
    it('killed at its calls that change files', async () => {
      const before = await killAtEveryCall(program, name, 'kill-before', STRIDE)
      const after = await killAtEveryCall(program, name, 'kill-after', STRIDE)
      // Some are killed on either side of the commit.
      expect(before.interrupted).toBeGreaterThan(3)
      expect(before.old + after.old).toBeGreaterThan(0)
      expect(before.new + after.new).toBeGreaterThan(0)
    })

    it('killed at random moments', async () => {
      expect(await killAtRandom(program, name, KILLS, Math.random)).toMatchObject({ interrupted: KILLS })
    })
  })

  it.each(scenarios)('changes nothing where any call fails: %s', async (name) => {
    for (const call of CALLS) {
      const { interrupted, old } = await failEveryCall(name, call, FAULT_STRIDE)
      expect(interrupted).toBeGreaterThan(1)
      // A failed removal does not reject: the save is complete.
      if (call !== 'unlink') expect(old).toBeGreaterThan(1)
    }
  })

  it('replaces symbolic links that were planted under its names, and leaves their targets alone', async () => {
    const directory = join(folder, 'planted')
    const victim = join(folder, 'victim')
    await mkdir(directory)
    await writeFile(victim, 'untouched')
    const planted = ['model-1.index', 'model-1.data-00000-of-00001', 'checkpoint']
    for (const name of planted) await symlink(victim, join(directory, name))
    await saveStep(directory, SCENARIOS['a new prefix'], 1)
    expect(await readFile(victim, 'utf8')).toBe('untouched')
    // `model-1.index` counted as a checkpoint that is replaced, so its data file was not written over.
    for (const name of ['model-1.index', 'checkpoint']) {
      expect((await lstat(join(directory, name))).isSymbolicLink()).toBe(false)
    }
    expect(await latestStep(directory)).toBe(1)
  })

  it('refuses a symbolic link in the place of its lock', async () => {
    const directory = join(folder, 'planted-lock')
    const victim = join(folder, 'victim-of-lock')
    await mkdir(directory)
    await writeFile(victim, 'untouched')
    await symlink(victim, join(directory, 'checkpoint.lock'))
    const before = await contentsOf(directory)
    await expect(saveStep(directory, SCENARIOS['a new prefix'], 1)).rejects.toThrow(coded('ERR_CHECKPOINT_IO'))
    expect(await contentsOf(directory)).toEqual(before)
    expect(await readFile(victim, 'utf8')).toBe('untouched')
  })

  describe.skipIf(process.platform === 'win32')('leaves the checkpoint before as it was, with a coded error', () => {
    /** Saves twice, then lets the program fail; only the two checkpoints may be left. */
    async function failing(name: string, start: (directory: string) => ChildProcess): Promise<string> {
      const directory = join(folder, name)
      await mkdir(directory, { mode: 0o755 })
      for (const step of [1, 2]) await saveStep(directory, SCENARIOS['a new prefix'], step)
      const before = await readdir(directory)
      const child = start(directory)
      let output = ''
      child.stdout!.on('data', (chunk) => {
        output += chunk
      })
      await once(child, 'close')
      expect((await readdir(directory)).sort()).toEqual(before.sort())
      expect(await latestStep(directory)).toBe(2)
      return output
    }
    const args = (directory: string) => [program, directory, 'a new prefix', 'forever']

    it('on a file system that takes no more bytes', async () => {
      // A limit of 512-byte or 1024-byte blocks on the size of a file fails like a full disk: in the midst of a write.
      const output = await failing('full', (directory) =>
        spawn('sh', ['-c', 'ulimit -f 20; exec "$@"', 'sh', process.execPath, ...args(directory)]),
      )
      expect(output).toBe('failed ERR_CHECKPOINT_IO\n')
    })

    it('in a directory that may not be written', async () => {
      // Root may write anywhere: then the program runs as user 65534.
      const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
      const output = await failing('forbidden', (directory) => {
        chmodSync(directory, 0o555)
        return spawn(process.execPath, args(directory), user)
      })
      expect(output).toBe('failed ERR_CHECKPOINT_IO\n')
      await chmod(join(folder, 'forbidden'), 0o755)
    })
  })

  const flags = process.allowedNodeEnvironmentFlags
  const PERMISSION = flags.has('--permission') ? '--permission' : '--experimental-permission'
  it.each([
    ['--no-experimental-global-webcrypto', [], /^saved 1\n$/],
    // Some releases of Node.js 24 forbid to flush under their permission model.
    [PERMISSION, ['--allow-fs-read=*', '--allow-fs-write=*'], /^(saved 1|failed ERR_CHECKPOINT_IO)\n$/],
    [PERMISSION, ['--allow-fs-read=*'], /^failed ERR_CHECKPOINT_IO\n$/],
  ])('saves, or says by a code why not, and leaves nothing else: node %s %j', async (flag, more, expected) => {
    if (!flags.has(flag)) return
    const directory = await mkdtemp(join(folder, 'flags-'))
    const never = JSON.stringify({ n: 1_000_000, kind: 'error' } satisfies Fault)
    const args = [flag, ...more, '--no-warnings', program, directory, 'the first save of a directory', never]
    const child = spawn(process.execPath, args)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk
      })
    }
    await once(child, 'close')
    expect(output).toMatch(expected)
    if (output === 'saved 1\n') expect(await latestStep(directory)).toBe(1)
    else expect(await readdir(directory)).toEqual([])
  })

  it('is refused where a file is in the place of the directory', async () => {
    const path = join(folder, 'file')
    await writeFile(path, 'not a directory')
    const { saveables } = savedTensors(1, 1)
    await expect(new Saver(saveables).save(join(path, 'model'))).rejects.toThrow(coded('ERR_CHECKPOINT_IO'))
    expect(dirname(path)).toBe(folder)
  })
})
