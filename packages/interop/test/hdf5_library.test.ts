import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'
import { fixturePath } from './fixture.js'

const PROGRAM = `
  import { importWeights } from '../src/index.js'
  await importWeights(process.argv[2]).catch(({ code, message }) => console.log(code, message))
`

it.each(['gru.legacy.h5', 'gru.keras'])('loadHdf5 names node --jitless as the reason not to read %s', async (name) => {
  const folder = await mkdtemp(join(import.meta.dirname, '../node_modules/.jitless-'))
  try {
    const program = join(folder, 'index.mjs')
    const external = ['h5wasm', '@node-rs/crc32']
    await bundleProgram({ contents: PROGRAM, resolveDir: import.meta.dirname }, program, { external })
    const printed = execFileSync(process.execPath, ['--jitless', program, fixturePath(`keras/${name}`)])
    expect(printed.toString()).toMatch(/^ERR_WEIGHTS_UNSUPPORTED .*node --jitless/)
  } finally {
    await rm(folder, { recursive: true })
  }
})
