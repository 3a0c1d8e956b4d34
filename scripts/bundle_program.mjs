import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const packages = fileURLToPath(new URL('../packages', import.meta.url))

/** The source file of each workspace package and of each of its subpaths, by the name in an import. */
function sourceAliases() {
  const files = readdirSync(packages).flatMap((name) => {
    const source = join(packages, name, 'src')
    if (!existsSync(source)) return []
    return readdirSync(source)
      .filter((file) => file.endsWith('.ts'))
      .map((file) => ({ name, file, path: join(source, file) }))
  })
  return Object.fromEntries(
    files.map(({ name, file, path }) => {
      const subpath = file === 'index.ts' ? '' : `/${basename(file, '.ts')}`
      return [`@cudnn-rnn/${name}${subpath}`, path]
    }),
  )
}

/**
 * Bundles a program in TypeScript, with the sources of the workspace packages it imports, into one file for Node.js 20 or
 * later.
 *
 * @param entry A path, or source text with the folder against which its relative imports are resolved
 */
export async function bundleProgram(entry, outfile, { alias, external, plugins } = {}) {
  await build({
    ...(typeof entry === 'string' ? { entryPoints: [entry] } : { stdin: { loader: 'ts', ...entry } }),
    ...{ outfile, bundle: true, platform: 'node', target: 'node20', format: 'esm', logLevel: 'error' },
    // CommonJS dependencies call require(), which ES modules lack. The name differs from the imports of the program.
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url)",
    },
    alias: { ...sourceAliases(), ...alias },
    external,
    plugins,
  })
}
