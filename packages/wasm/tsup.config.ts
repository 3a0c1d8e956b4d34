import { copyFileSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { packageBuild } from '../../scripts/build/tsup_preset.js'

const require = createRequire(import.meta.url)

/**
 * The modules are separate files, which both formats import: a second copy would double the package. Beside the inlined one
 * lies the module itself, which pages fetch that use the slim entry.
 */
const modulesBeside = {
  name: 'modules-beside',
  setup(build: import('esbuild').PluginBuild) {
    build.onResolve({ filter: /^@cudnn-rnn\/native-wasm\/(?:relaxed|simd128)/ }, ({ path }) => {
      const name = path.slice(path.lastIndexOf('/') + 1)
      const dist = join(import.meta.dirname, 'dist')
      mkdirSync(dist, { recursive: true })
      copyFileSync(require.resolve(path), join(dist, `${name}.js`))
      copyFileSync(require.resolve(`${path}.wasm`), join(dist, `${name}.wasm`))
      return { path: `./${name}.js`, external: true }
    })
  },
}

export default packageBuild({
  entry: { index: 'src/index.ts', slim: 'src/slim.ts' },
  esbuildPlugins: [modulesBeside],
})
