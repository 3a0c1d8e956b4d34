import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { run } from './program_run.js'
import { temporaryDirectory } from './small_run.js'

it('export takes the network that is named, and states the option where a format holds one', async () => {
  const folder = await temporaryDirectory()
  const source = join(folder, 'stacked.weights.h5')
  const fixture = new URL('../../../fixtures/interop/keras/lstm_stacked.weights.h5', import.meta.url)
  await writeFile(source, await readFile(fixture))
  const several = await run('export', source, '--format', 'onnx')
  expect([several.exitCode, several.stderr]).toEqual([
    1,
    expect.stringMatching(/ERR_SEVERAL_NETWORKS.*first, second.*--network/),
  ])
  const { exitCode, stdout } = await run('export', source, '--format', 'onnx', '--network', 'second')
  expect([exitCode, stdout]).toEqual([
    0,
    `${source}.onnx: second\nNot in the file: ${[0, 1, 2].map((k) => `layers/lstm/cell/vars/${k}`).join(', ')}\n`,
  ])
  const missing = await run('export', source, '--format', 'onnx', '--network', 'third')
  expect([missing.exitCode, missing.stderr]).toEqual([
    1,
    expect.stringMatching(/one of first, second: current name is third/),
  ])
})

it('import lists optimizer slots in one line', async () => {
  const fixture = new URL('../../../fixtures/interop/guide/sine.pt', import.meta.url)
  const { stdout } = await run('import', fileURLToPath(fixture))
  expect(stdout).toContain('Optimizer state: 18 tensors of 728 elements, such as optimizer.state.0.step\n')
  expect(stdout.match(/optimizer/gi)).toHaveLength(2)
})
