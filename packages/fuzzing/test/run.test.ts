import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'

const runner = fileURLToPath(new URL('../run.mjs', import.meta.url))

/** File 3 of the grammar ends in `outcome`, all others are read or, every second, refused with a code. */
const grammarsWith = (outcome: string) => `
const coded = () => Object.assign(new Error('refused'), { code: 'ERR_WALK' })
let built = -1
export const isCoded = (error: unknown) => (error as { code?: unknown }).code === 'ERR_WALK'
export const GRAMMARS = {
  letters: (random: { below(limit: number): number }) => {
    random.below(2)
    return {
      heldBytes: 8,
      async read() {
        built = FIRST() + ++count
        if (built === 3) { ${outcome} }
        if (built % 2 === 1) throw coded()
      },
    }
  },
}
let count = -1
const FIRST = () => Number(process.argv.at(-1))
`

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fuzzing-'))
  // The runner bundles into the node_modules of the package that the grammars belong to.
  await mkdir(join(folder, 'node_modules'))
  await mkdir(join(folder, 'fuzz'))
  onTestFinished(() => rm(folder, { recursive: true }))
})

async function fuzz(outcome: string, ...args: readonly string[]) {
  const module = join(folder, 'fuzz', 'letters.ts')
  await writeFile(module, grammarsWith(outcome))
  const child = spawn(process.execPath, [runner, module, ...args])
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (bytes) => {
    stdout += bytes
  })
  child.stderr.on('data', (bytes) => {
    stderr += bytes
  })
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve))
  expect(await readdir(join(folder, 'node_modules'))).toEqual([])
  return { status, stdout, stderr }
}

describe('node packages/fuzzing/run.mjs', () => {
  it('counts files by outcome and grammar, and ends with 0', async () => {
    const { status, stdout } = await fuzz('', '10', '7')
    expect(status).toBe(0)
    expect(stdout).toMatch(/^10 files, seed 7, \d+ s: none broke a rule$/m)
    expect(JSON.parse(stdout.slice(0, stdout.lastIndexOf('}') + 1))).toMatchObject({
      files: 10,
      outcomes: { letters: { read: 5, ERR_WALK: 5 } },
      failures: [],
    })
  })

  it.each([
    [
      'ends in an error without a code',
      `throw new Error('oops')`,
      /file 3 of grammar letters: it ends in an error without a code/,
    ],
    [
      'changes a prototype',
      `(Object.prototype as never as { x: number }).x = 1; return`,
      /file 3 of grammar letters: it changes a prototype/,
    ],
    ['ends the process', `process.exit(7)`, /file 3: ends the process with 7/],
  ])('a file that %s is named, the run continues after it and ends with 1', async (_, outcome, rule) => {
    const { status, stdout, stderr } = await fuzz(outcome, '8', '7')
    expect(status).toBe(1)
    expect(stderr).toMatch(rule)
    expect(stdout).toMatch(/^8 files, seed 7, \d+ s: 1 broke a rule$/m)
  })

  it('continues after the files of its log, and adds the log up', async () => {
    const log = join(folder, 'fuzz.log')
    await fuzz('', '4', '7', '--log', log)
    await fuzz('', '4', '7', '--log', log)
    const lines = (await readFile(log, 'utf8')).trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).first)).toEqual([0, 4])
    const { stdout } = await fuzz('', '--log', log, '--sum')
    expect(JSON.parse(stdout)).toMatchObject({ files: 8, failures: [] })
  })
})
