import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { loadAddon } from '../src/cpu_backend.js'

const here = fileURLToPath(new URL('.', import.meta.url))
// Lies as deep as `src`: the addon of this repository is found by a relative path.
const folder = mkdtempSync(join(here, '../.refused_buffers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Node-API's function, and one of as many letters that refuses as Electron's does: `napi_no_external_buffers_allowed`. */
const [NAME, REFUSING] = ['napi_create_external_arraybuffer', 'napi_refuse_external_arraybuffer']
const SHIM = `#include <unistd.h>\nextern "C" int ${REFUSING}() { return write(2, "r", 1) == 1 ? 22 : 9; }\n`

const PROGRAM = `
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { createHash } from 'node:crypto'
import { openCpuBackend } from '../src/index.js'
const hash = createHash('sha256')
const wave = (...shape) => ({ data: Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, k) => Math.sin(k)), shape })
for (const numUnits of [3, 64, 200]) {
  const backend = openCpuBackend({ threads: 2 })
  const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 2, numUnits, inputSize: 5, direction: 'bidirectional' }))
  const input = wave(6, 3, 5)
  const params = wave(rnn.paramsSize)
  for (let round = 0; round < 3; round++) {
    const { output, tape } = await rnn.forward({ input, inputH: null, params, sequenceLengths: null, training: true })
    const gradients = await rnn.backward(tape, { output: wave(6, 3, 2 * numUnits) })
    for (const tensor of [output, gradients.input, gradients.params]) hash.update((await tensor.read()).data)
  }
  backend.dispose()
}
console.log(hash.digest('hex'))
`

const compiles = process.platform === 'linux' && spawnSync('g++', ['--version']).status === 0

const loaded = loadAddon()

it.skipIf(!compiles || loaded.addon === undefined)(
  'computes the same where the engine refuses memory of others, as Electron does',
  async () => {
    const program = join(folder, 'program.mjs')
    await bundleProgram({ contents: PROGRAM, resolveDir: here }, program)
    const run = (environment: NodeJS.ProcessEnv) => {
      const env = { ...process.env, ...environment }
      const { status, stdout, stderr } = spawnSync(process.execPath, [program], { encoding: 'utf8', env })
      return { status, stdout, refusals: /^r*$/.test(stderr) ? stderr.length : stderr }
    }
    const [source, shim, addon] = ['shim.cc', 'shim.so', 'addon.node'].map((name) => join(folder, name))
    writeFileSync(source, SHIM)
    expect(spawnSync('g++', ['-shared', '-fPIC', '-o', shim, source]).status).toBe(0)
    const bytes = readFileSync(loaded.addon === undefined ? '' : loaded.file, 'latin1').replaceAll(NAME, REFUSING)
    writeFileSync(addon, bytes, 'latin1')
    const lent = run({})
    // The library of a sanitizer must be the first.
    const preloaded = [process.env['LD_PRELOAD'], shim].filter(Boolean).join(':')
    const copied = run({ LD_PRELOAD: preloaded, CUDNN_RNN_CPU_ADDON: addon })
    expect(lent).toMatchObject({ status: 0, refusals: 0 })
    expect(copied).toMatchObject({ status: 0, stdout: lent.stdout })
    expect(copied.refusals).toBeGreaterThan(0)
  },
)
