import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { workspaceSources } from '../../testing/bundle_program.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url)).replace(/[\\/]$/, '')
const portable = join(root, 'scripts/build/cross/portable')
const vitest = createRequire(join(root, 'package.json')).resolve('vitest/package.json')
/** Packages that belong to vitest, or to its assertions. */
const ofVitest = (name) => createRequire(createRequire(vitest).resolve('@vitest/expect')).resolve(name)
const ONNX_RUNTIME = createRequire(join(root, 'package.json')).resolve('onnxruntime-node')

/**
 * Bundles test files into `out`/run.js, which any JavaScript runtime runs: without vitest's processes, without symbolic
 * links, without `node_modules`. Modules think that they are where their sources are, below the root that the runtime sees.
 *
 * @param files relative to the repository
 */
export async function bundleTests(out, files) {
  const imports = files.map((file) => `${JSON.stringify(file)}: () => import(${JSON.stringify(join(root, file))})`)
  const plugin = {
    name: 'portable-tests',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^vitest$/ }, () => ({ path: join(portable, 'vitest.mjs') }))
      // By its real path: wine follows none of the links to it.
      onResolve({ filter: /^onnxruntime-node$/ }, () => ({ path: ONNX_RUNTIME, external: true }))
      onResolve({ filter: /\/bundle_program\.mjs$/ }, () => ({ path: join(portable, 'bundle_program.mjs') }))
      onResolve({ filter: /^bundled-tests$/ }, () => ({ path: 'files', namespace: 'bundled-tests' }))
      onLoad({ filter: /^/, namespace: 'bundled-tests' }, () => ({
        contents: `export default {\n${imports.join(',\n')}\n}`,
        resolveDir: root,
      }))
      onResolve({ filter: /^(@vitest\/(expect|runner|spy)|chai)$/ }, ({ path, importer }) =>
        importer.startsWith(portable)
          ? { path: path === '@vitest/runner' ? createRequire(vitest).resolve(path) : ofVitest(path) }
          : undefined,
      )
      onLoad({ filter: /\.m?[jt]s$/ }, ({ path }) => {
        // bundle_program.mjs finds the folder of run.js, and replaces the words below.
        if (/\/node_modules\/|\/bundle_program\.mjs$/.test(path)) return undefined
        const place = JSON.stringify(relative(root, path))
        const contents = readFileSync(path, 'utf8')
          .replace(/import\.meta\.url/g, `globalThis.sourceUrl(${place})`)
          .replace(/import\.meta\.dirname/g, `globalThis.sourceFolder(${place})`)
        return { contents, loader: path.endsWith('ts') ? 'ts' : 'js', resolveDir: dirname(path) }
      })
    },
  }
  const options = {
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', splitting: true, keepNames: true },
    ...{
      absWorkingDir: root,
      plugins: [plugin, workspaceSources],
      logLevel: 'error',
      banner: { js: PLACES },
      loader: { '.node': 'empty' },
    },
    external: '@napi-rs/canvas playwright-core esbuild typescript vite rollup webpack'.split(' '),
  }
  await build({ ...options, entryPoints: { run: join(portable, 'run.mjs') }, outdir: out })
  writeFileSync(join(out, 'package.json'), '{ "type": "module" }\n')
}

/** The first lines of every bundled file: the places of sources below `--root`. */
const PLACES = `
import { pathToFileURL as placeUrl } from 'node:url'
import { dirname as placeFolder, join as placeBelow } from 'node:path'
import { createRequire as requireFrom } from 'node:module'
globalThis.sourceRoot ??= process.argv[process.argv.indexOf('--root') + 1]
globalThis.sourceUrl ??= (path) => placeUrl(placeBelow(globalThis.sourceRoot, path)).href
globalThis.sourceFolder ??= (path) => placeFolder(placeBelow(globalThis.sourceRoot, path))
const require = requireFrom(import.meta.url)
`
