import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { sourceOf } from '../workspace.mjs'

const packages = fileURLToPath(new URL('../../packages', import.meta.url))

/** Workspace packages and their subpaths are read from their sources. */
export const workspaceSources = {
  name: 'workspace-sources',
  setup({ onResolve }) {
    onResolve({ filter: /^@cudnn-rnn\/[\w-]+(\/[\w-]+)?$/ }, ({ path }) => {
      const [, name, part] = path.split('/')
      return { path: sourceOf(join(packages, name), part === undefined ? '.' : `./${part}`) }
    })
  },
}

/**
 * Bundles a program in TypeScript, with the sources of the workspace packages it imports, into one file for Node.js 20 or
 * later. One run of tests bundles a program once: the command line takes 1.6 s of CPU, and seven files of tests start it.
 *
 * @param entry A path, or source text with the folder against which its relative imports are resolved
 */
export async function bundleProgram(entry, outfile, { alias, external, plugins = [] } = {}) {
  const kept = plugins.length === 0 ? keptBundle({ entry, alias, external }) : undefined
  if (kept !== undefined && existsSync(kept)) {
    // esbuild makes the folder, copying does not.
    mkdirSync(dirname(outfile), { recursive: true })
    return copyFileSync(kept, outfile)
  }
  await build({
    ...(typeof entry === 'string' ? { entryPoints: [entry] } : { stdin: { loader: 'ts', ...entry } }),
    ...{ outfile, bundle: true, platform: 'node', target: 'node20', format: 'esm', logLevel: 'error' },
    // As in the packages that are published.
    minifySyntax: true,
    // CommonJS dependencies call require(), which ES modules lack. The name differs from the imports of the program.
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url)",
    },
    alias,
    external,
    plugins: [...plugins, workspaceSources],
  })
  if (kept === undefined) return
  // Whole at once, as workers that bundle the same program side by side take it.
  const part = `${kept}.${process.pid}-${performance.now()}`
  copyFileSync(outfile, part)
  renameSync(part, kept)
}

/** Where the bundle of a run of tests is. None while vitest watches: sources change between its runs. */
function keptBundle(options) {
  const { CUDNN_RNN_TEST_RUN: run, VITEST_MODE: mode } = process.env
  if (run === undefined || mode !== 'RUN') return undefined
  return join(run, `bundle-${createHash('sha256').update(JSON.stringify(options)).digest('hex')}.js`)
}
