import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeCheckpoint } from '@cudnn-rnn/checkpoint'
import { encodeKerasArchive } from '@cudnn-rnn/interop'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { measured } from '../../../scripts/testing/measured_figures.mjs'

const MIB = 2 ** 20
const here = fileURLToPath(new URL('.', import.meta.url))
// There, as the HDF5 library is a package of interop's.
const folder = await mkdtemp(join(here, '../../interop/node_modules/.memory-'))
const program = join(folder, 'reader.mjs')
afterAll(() => rm(folder, { recursive: true, force: true }))
beforeAll(() =>
  bundleProgram({ contents: READER, resolveDir: here }, program, { external: ['h5wasm', '@node-rs/crc32'] }),
)

const READER = `
import { importKeras, loadModel } from '../src/index.js'
import { openReferenceBackend } from '@cudnn-rnn/reference'
const [small, large] = process.argv.slice(2)
const outcomeOf = (path) => (path.endsWith('.keras') ? importKeras : loadModel)(openReferenceBackend(), path).then(() => 'read', ({ code }) => code)
await outcomeOf(small)
gc()
const before = process.resourceUsage().maxRSS
const outcome = await outcomeOf(large)
console.log(JSON.stringify({ outcome, growth: (process.resourceUsage().maxRSS - before) * 1024 }))
`

const zeros = (...shape: number[]) => ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape })

async function kerasFile(name: string, layers: number, rows: number, units = 4): Promise<string> {
  const embedding = { class_name: 'Embedding', config: { name: 'e', input_dim: rows, output_dim: units } }
  const model = { class_name: 'Sequential', config: { layers: Array.from({ length: layers }, () => embedding) } }
  const path = join(folder, `${name}.keras`)
  await writeFile(path, await encodeKerasArchive(model, new Map([['e/embeddings', zeros(rows, 4)]])))
  return path
}

async function checkpoint(name: string, kind: string, config: object, rows = 2): Promise<string> {
  const description = {
    format: 1,
    seed: 0,
    input: { isSequence: true, features: kind === 'embedding' ? null : 2 },
    layers: [{ kind, config }],
  }
  const data = new TextEncoder().encode(JSON.stringify(description))
  await writeCheckpoint(join(folder, name), [
    ['embedding/embeddings', zeros(rows, 2)],
    ['model_config', { data, shape: [data.length] }],
  ])
  return join(folder, name)
}

test.each<[string, () => Promise<string>, () => Promise<string>, string, number]>([
  [
    '400 layers over one tensor of 4 MB',
    () => kerasFile('a', 1, 2),
    () => kerasFile('b', 400, 2 ** 18),
    'ERR_UNKNOWN_LAYER',
    4 * MIB,
  ],
  [
    'an Embedding wider than its tensor',
    () => kerasFile('c', 1, 2),
    () => kerasFile('d', 1, 2, 2 ** 28),
    'ERR_UNKNOWN_LAYER',
    0,
  ],
  [
    'a checkpoint of an embedding beyond its tensors',
    () => checkpoint('e', 'embedding', { size: 2, units: 2 }),
    () => checkpoint('f', 'embedding', { size: 30_000, units: 20_000 }),
    'ERR_RESTORE_MISMATCH',
    0,
  ],
  [
    'a checkpoint of a dense layer beyond its tensors',
    () => checkpoint('g', 'embedding', { size: 2, units: 2 }),
    () => checkpoint('h', 'dense', { units: 2 ** 28 }),
    'ERR_RESTORE_MISMATCH',
    0,
  ],
  [
    'a checkpoint of a network beyond its tensors',
    () => checkpoint('i', 'embedding', { size: 2, units: 2 }),
    () => checkpoint('j', 'cudnnLSTM', { numUnits: 2 ** 13, inputSize: 2 }),
    'ERR_RESTORE_MISMATCH',
    0,
  ],
  ['a Keras model of 32 MB', () => kerasFile('k', 1, 2), () => kerasFile('l', 1, 2 ** 21), 'read', 32 * MIB],
  [
    'a checkpoint of 32 MB',
    () => checkpoint('m', 'embedding', { size: 2, units: 2 }),
    () => checkpoint('n', 'embedding', { size: 2 ** 22, units: 2 }, 2 ** 22),
    'read',
    32 * MIB,
  ],
])(
  '%s takes at most four times the bytes of its file and 64 MiB',
  { timeout: 60_000 },
  async (_, small, large, code, held) => {
    const files = [await small(), await large()]
    const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', program, ...files], { encoding: 'utf8' })
    const { outcome, growth } = JSON.parse(stdout || `{"outcome":${JSON.stringify(stderr)}}`) as {
      outcome: string
      growth: number
    }
    measured({ 'greatest peak of memory of a file, MiB': growth / MIB }, 'most')
    measured({ 'greatest share of its bound': growth / (4 * held + 64 * MIB) }, 'most')
    expect(outcome).toBe(code)
    expect(growth).toBeLessThan(4 * held + 64 * MIB)
  },
)
