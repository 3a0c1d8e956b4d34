import { join } from 'node:path'
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
 * later.
 *
 * @param entry A path, or source text with the folder against which its relative imports are resolved
 */
export async function bundleProgram(entry, outfile, { alias, external, plugins = [] } = {}) {
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
}
