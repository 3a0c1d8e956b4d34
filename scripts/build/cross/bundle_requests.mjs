// A thread that bundles the programs of tests on other platforms, while the main thread waits for their end: portable/bundle_program.mjs.
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { workerData as folder } from 'node:worker_threads'
import { bundleProgram } from '../../testing/bundle_program.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))

setInterval(() => {
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.json')) continue
    const request = join(folder, name.slice(0, -'.json'.length))
    renameSync(`${request}.json`, `${request}.taken`)
    const { entry, contents, resolveDir, external } = JSON.parse(readFileSync(`${request}.taken`, 'utf8'))
    const program = entry === undefined ? { contents, resolveDir: join(root, resolveDir) } : join(root, entry)
    bundleProgram(program, `${request}.part`, { external }).then(
      () => renameSync(`${request}.part`, `${request}.js`),
      (error) => writeFileSync(`${request}.error`, error.message),
    )
  }
}, 20)
