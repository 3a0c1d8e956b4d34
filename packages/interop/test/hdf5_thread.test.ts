import { readFile } from 'node:fs/promises'
import type { Plugin } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import * as sources from '../src/index.js'
import { bundler } from './bundled_package.js'
import { fixturePath } from './fixture.js'

type Program = typeof import('../src/index.js') & typeof import('../src/files/hdf5_thread.js')

const { bundled } = await bundler()

const builtPackage = (name: string, plugins: Plugin[] = []) =>
  bundled<Program>(
    name,
    "export * from '../src/index.js'; export { Hdf5Thread } from '../src/files/hdf5_thread.js'",
    plugins,
  )

/** The guard detects some structures that the library never finishes; without it they stand for those it does not detect. */
const withoutGuard: Plugin = {
  name: 'without-guard',
  setup(build) {
    build.onLoad({ filter: /hdf5_guard\.ts$/ }, () => ({
      contents: 'export class Hdf5Guard { allows() { return true } }',
      loader: 'ts',
    }))
  },
}

/** A file whose global heap has an object of no bytes: the library searches for the next one without end. */
async function endlessFile(): Promise<Uint8Array> {
  const { default: h5wasm } = await import('h5wasm')
  const { FS } = await h5wasm.ready
  const file = new h5wasm.File('/endless.h5', 'w')
  file.create_attribute('model_config', 'a text', null, 'S')
  file.create_dataset({ name: 'kernel', data: new Float32Array(4), shape: [2, 2] })
  file.close()
  const bytes = FS.readFile('/endless.h5').slice()
  FS.unlink('/endless.h5')
  const heap = Buffer.from(bytes.buffer).indexOf('GCOL')
  expect(heap).toBeGreaterThan(0)
  bytes.fill(0, heap + 16, heap + 32)
  return bytes
}

describe('the thread of the HDF5 library', async () => {
  const { importWeights, openWeightFile } = await builtPackage('usual')

  it.each(['lstm_stacked.weights.h5', 'lstm_stacked.legacy.h5', 'lstm_stacked.keras'])(
    'reads %s as the calling thread does, by path and bytes, several at once',
    async (name) => {
      const path = fixturePath(`keras/${name}`)
      const [expected, ...others] = await Promise.all([
        sources.importWeights(path),
        importWeights(path),
        importWeights(new Uint8Array(await readFile(path))),
      ])
      for (const other of others) expect(other).toEqual(expected)
    },
  )

  it('sends errors with code, message and path', async () => {
    const path = fixturePath('keras/hostile.weights.h5')
    const outcomesOf = async (open: typeof openWeightFile) => {
      const file = await open(path)
      const outcomes = await Promise.all(file.tensors.map(({ read }) => read().catch(fieldsOf)))
      await file.close()
      return outcomes
    }
    const outcomes = await outcomesOf(openWeightFile)
    expect(outcomes).toEqual(await outcomesOf(sources.openWeightFile))
    expect(outcomes).toContainEqual(coded('ERR_WEIGHTS_CORRUPT', { path }))
  })

  it('refuses calls after close', async () => {
    const file = await openWeightFile(fixturePath('keras/gru.weights.h5'))
    await file.close()
    await file.close()
    await expect(file.tensors[0]!.read()).rejects.toMatchObject({ code: 'ERR_WEIGHTS_CORRUPT' })
  })
})

it('the thread of the HDF5 library is ended where it does not finish, and the next file has another one', async () => {
  const { Hdf5Thread, importWeights } = await builtPackage('unguarded', [withoutGuard])
  const bytes = await endlessFile()
  const thread = (await Hdf5Thread.open({ path: 'endless.h5', bytes }, bytes.length, 1))!
  const calls = [thread.call('text', 'model_config'), thread.call('list')]
  for (const outcome of await Promise.allSettled(calls)) {
    expect(outcome).toMatchObject({
      status: 'rejected',
      reason: { code: 'ERR_WEIGHTS_CORRUPT', message: expect.stringContaining('does not finish within') },
    })
  }
  await thread.close()
  const { networks } = await importWeights(fixturePath('keras/gru.weights.h5'))
  expect(networks).toHaveLength(1)
})

function fieldsOf(error: unknown) {
  const { name, code, message, path } = error as sources.WeightFileError
  return { name, code, message, path }
}
