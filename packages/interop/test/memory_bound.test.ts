import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { modelBytes, nodeMessage, tensorMessage } from '../fuzz/onnx_bytes.js'
import { OPS, PickleBytes } from '../fuzz/pickle_bytes.js'
import { safetensorsBytes } from '../fuzz/safetensors_bytes.js'
import { zipBytes } from '../fuzz/zip_bytes.js'

const MIB = 2 ** 20
/** The promise of docs/reliability.md. */
const boundOf = (heldBytes: number) => 4 * heldBytes + 64 * MIB

const here = fileURLToPath(new URL('.', import.meta.url))
const folder = await mkdtemp(join(here, '../node_modules/.memory-'))
const program = join(folder, 'reader.mjs')
afterAll(() => rm(folder, { recursive: true, force: true }))

const external = ['h5wasm', '@node-rs/crc32']
beforeAll(() => bundleProgram({ contents: READER, resolveDir: here }, program, { external }))

/** Reads a file twice over, the second time for the measurement: code and caches are not memory of the file. */
const READER = `
import { readFileSync } from 'node:fs'
import { importWeights } from '../src/index.js'
const [small, large] = process.argv.slice(2)
const outcomeOf = (bytes) => importWeights(bytes, { cellMode: 'rnn_tanh' }).then(
  ({ networks }) => networks.length + ' networks',
  ({ code }) => code,
)
await outcomeOf(new Uint8Array(readFileSync(small)))
const bytes = new Uint8Array(readFileSync(large))
gc()
const before = process.resourceUsage().maxRSS
const outcome = await outcomeOf(bytes)
console.log(JSON.stringify({ outcome, growth: (process.resourceUsage().maxRSS - before) * 1024 }))
`

const onnx = (nodes: number) =>
  modelBytes(
    Array.from({ length: nodes }, (_, index) => nodeMessage('RNN', ['X', 'W', 'W'], `y${index}`)),
    [tensorMessage('W', [1, 1, 1], 4)],
  )

const archive = (files: number) =>
  zipBytes(Array.from({ length: files }, (_, index) => ({ name: `f${index}`, bytes: new Uint8Array(0) })))

const H = 128
/** Networks whose tensors are views of one deflated storage. */
function torch(networks: number): Uint8Array {
  const count = 4 * H * H
  const pickle = new PickleBytes().op(OPS.emptyDict)
  const view = { key: '0', count, shape: [4 * H, H], strides: [H, 1] }
  for (let network = 0; network < networks; network++) {
    for (const side of ['ih', 'hh']) pickle.text(`n${network}.weight_${side}_l0`).tensor(view).op(OPS.setItem)
  }
  const storage = { name: 'm/data/0', bytes: new Uint8Array(4 * count), deflate: true }
  return zipBytes([{ name: 'm/data.pkl', bytes: pickle.finish() }, storage])
}

const header = (depth: number) => safetensorsBytes(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`)

describe.skipIf(process.platform === 'win32')('importWeights takes at most 4 × the file and 64 MiB', () => {
  it.each([
    ['20,000 ONNX nodes of one initializer', onnx, 20_000, 0, '20000 networks'],
    ['an archive of 65,000 empty files', archive, 65_000, 0, 'ERR_WEIGHTS_FORMAT'],
    ['300 networks over one deflated storage', torch, 300, 16 * H * H, '300 networks'],
    ['5 MB of nested JSON', header, 2_500_000, 0, 'ERR_WEIGHTS_CORRUPT'],
  ] as const)('%s', async (_, make, size, unpacked, outcome) => {
    const bytes = make(size)
    const [small, large] = [join(folder, 'small'), join(folder, 'large')]
    await writeFile(small, make(2))
    await writeFile(large, bytes)
    const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', program, small, large], {
      encoding: 'utf8',
      timeout: 50_000,
      killSignal: 'SIGKILL',
    })
    expect(stderr).toBe('')
    const result = JSON.parse(stdout) as { outcome: string; growth: number }
    const bound = boundOf(bytes.length + unpacked)
    measured({ 'greatest peak of memory of a file, MiB': result.growth / MIB }, 'most')
    measured({ 'greatest share of its bound': result.growth / bound }, 'most')
    expect(result.outcome).toBe(outcome)
    expect(result.growth).toBeLessThanOrEqual(bound)
  })
})
