import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

const skipped = instructionSetsUnderTest('the end of a process').length === 0
const here = fileURLToPath(new URL('.', import.meta.url))
// Lies as deep as `src`: the addon of this repository is found by a relative path.
const folder = await mkdtemp(join(here, '../.process_end-'))
const program = join(folder, 'program.mjs')
afterAll(() => rm(folder, { recursive: true, force: true }))

/** 1 MiB of outputs: that memory belongs to the addon. */
const PROGRAM = `
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { openCpuBackend } from '../src/index.js'
const backend = openCpuBackend({ threads: 2 })
const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'rnn_tanh', numLayers: 1, numUnits: 64, inputSize: 64 }))
const input = { data: new Float32Array(64 * 64 * 64), shape: [64, 64, 64] }
const params = backend.zeros([rnn.paramsSize])
const { output } = await rnn.forward({ input, inputH: null, params, sequenceLengths: null, training: false })
const { data } = await output.read()
console.log(data.length, data[0])
`
beforeAll(() => bundleProgram({ contents: PROGRAM, resolveDir: here }, program))

it.skipIf(skipped)('a process ends with 0 when it has read a result and disposed nothing', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program], {
    encoding: 'utf8',
    timeout: 100_000,
    killSignal: 'SIGKILL',
  })
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '262144 0\n', stderr: '' })
})
