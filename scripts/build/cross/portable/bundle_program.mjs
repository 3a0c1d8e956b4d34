// In the place of scripts/testing/bundle_program.mjs in bundled tests, as esbuild does not run everywhere: bundle_requests.mjs
// bundles the program, on the machine that emulates this one, if there is a folder for requests: under qemu no program starts
// another one.
import { randomUUID } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('requests', import.meta.url))

export async function bundleProgram(entry, outfile, { external, plugins } = {}) {
  if (plugins !== undefined || !existsSync(folder)) throw new Error('bundleProgram is not in the portable runner')
  const ofRoot = (path) => relative(globalThis.sourceRoot, path).replaceAll('\\', '/')
  const program = typeof entry === 'string' ? { entry: ofRoot(entry) } : contentsOf(entry, ofRoot)
  // Not the number of the process: under wine a later process may have the same one.
  const request = join(folder, randomUUID())
  writeFileSync(request, JSON.stringify({ ...program, external }))
  renameSync(request, `${request}.json`)
  while (!existsSync(`${request}.js`)) {
    if (existsSync(`${request}.error`)) throw new Error(readFileSync(`${request}.error`, 'utf8'))
    await pause(20)
  }
  mkdirSync(dirname(outfile), { recursive: true })
  copyFileSync(`${request}.js`, outfile)
}

/** A program of a test has the words that bundle_tests.mjs replaced in the test. */
const contentsOf = ({ contents, resolveDir }, ofRoot) => ({
  contents: contents.replace(/globalThis\.sourceUrl\("[^"]*"\)/g, 'import.meta.url'),
  resolveDir: ofRoot(resolveDir),
})
