import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Plugin } from 'esbuild'
import { afterAll } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const external = ['h5wasm', '@node-rs/crc32']

/** Bundles programs of one test file. */
export interface Bundler {
  /**
   * Bundles a program and imports it.
   *
   * @param name of its folder.
   * @param contents source text; its imports are resolved against this folder.
   * @param plugins of the worker thread's program.
   */
  bundled<Program>(name: string, contents: string, plugins?: Plugin[]): Promise<Program>
}

/**
 * Bundles programs with `hdf5_worker.js` beside them, as the package is published. A test that imports the sources instead has no
 * worker thread: it reads HDF5 files in its own copy of the HDF5 library, which a damaged file can break.
 */
export async function bundler(): Promise<Bundler> {
  // Beside the installed packages, where the thread finds the HDF5 library.
  const folder = await mkdtemp(join(here, '../node_modules/.hdf5-'))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  return {
    async bundled(name, contents, plugins = []) {
      const index = join(folder, name, 'index.mjs')
      await bundleProgram({ contents, resolveDir: here }, index, { external })
      const thread = join(here, '../src/files/hdf5_worker.ts')
      await bundleProgram(thread, join(folder, name, 'hdf5_worker.js'), { external, plugins })
      return import(pathToFileURL(index).href)
    },
  }
}
