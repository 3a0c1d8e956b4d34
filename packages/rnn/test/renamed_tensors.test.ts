import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Random } from '@cudnn-rnn/fuzzing'
import { type ImportOptions, importWeights, openWeightFile, type WeightFile } from '@cudnn-rnn/interop'
import { afterAll, expect, it } from 'vitest'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { hasErrorCode } from '../src/index.js'
import { Pack } from './oracle_pack.js'

const RENAMED = Number(process.env['CUDNN_RNN_FUZZ_MUTATIONS'] ?? 2)
const SEED = Number(process.env['CUDNN_RNN_FUZZ_SEED'] ?? 1)

const folder = await mkdtemp(join(tmpdir(), 'cudnn-rnn-renamed-'))
afterAll(() => rm(folder, { recursive: true }))

/** The path of a checkpoint in a folder, whose files are written. */
async function checkpointIn(files: readonly (readonly [string, Uint8Array])[]): Promise<string> {
  for (const [path, bytes] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), bytes)
  }
  const [index = ''] = files.flatMap(([path]) => (path.endsWith('.index') ? path.slice(0, -'.index'.length) : []))
  return join(folder, index)
}

/** The name with another character, in capitals, or in another scope. */
function renamed(name: string, random: Random): string {
  const at = random.below(name.length)
  return random.pick([
    `${name.slice(0, at)}${random.pick([...'abxz019_./'])}${name.slice(at + 1)}`,
    name.toUpperCase(),
    `${random.pick(['model.', 'a/', 'x.0.'])}${name}`,
  ])
}

/** The networks of a file as text without their places, or undefined if it is refused. */
async function networksOf(input: WeightFile, options: ImportOptions): Promise<string[] | undefined> {
  try {
    const { networks, cells } = await importWeights(input, options)
    const found = [
      ...networks.map(({ descriptor, canonical, reverse }) => ({ descriptor, canonical, reverse })),
      ...cells.map(({ cell, options: own, variables, reverse }) => ({ cell, own, variables, reverse })),
    ]
    return found.map((each) => JSON.stringify(each)).sort()
  } catch (error) {
    if (!hasErrorCode(error) || !/^ERR_[A-Z0-9_]+$/.test(error.code)) throw error
    return undefined
  }
}

it.each(['torch', 'names', 'flax', 'tf'])(
  'a file in which one tensor has another name is refused, or gives the same networks: %s',
  { timeout: 300_000 },
  async (source) => {
    const pack = new Pack(`drawn_${source}`)
    const counts = { same: 0, refused: 0 }
    const wrong: string[] = []
    for (const [index, oracle] of pack.cases.entries()) {
      const isFolder = typeof oracle.file.at !== 'number'
      const file = await openWeightFile(isFolder ? await checkpointIn(pack.files(oracle)) : pack.file(oracle))
      const open = { ...file, close: async () => {} }
      const whole = await networksOf(open, oracle.options ?? {})
      for (let mutation = 0; mutation < RENAMED && whole !== undefined; mutation++) {
        const random = new Random(SEED, index * RENAMED + mutation)
        const { name } = random.pick(file.tensors)
        const other = renamed(name, random)
        if (file.tensors.some((tensor) => tensor.name === other)) continue
        const tensors = file.tensors.map((tensor) => (tensor.name === name ? { ...tensor, name: other } : tensor))
        const found = await networksOf({ ...open, tensors }, oracle.options ?? {})
        if (found === undefined) counts.refused++
        else if (String(found) === String(whole)) counts.same++
        else wrong.push(`${oracle.name}: ${name} is ${other}: ${found.length} networks in place of ${whole.length}`)
      }
      await file.close()
    }
    measured({
      'files with a renamed tensor that are read alike': counts.same,
      'files with a renamed tensor that are refused': counts.refused,
    })
    expect(wrong).toEqual([])
  },
)
