import { copyFileSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { packageBuild } from '../../scripts/tsup_preset.js'

const require = createRequire(import.meta.url)

/** The modules are separate files, which both formats import: a second copy would double the package. */
const modulesBeside = {
  name: 'modules-beside',
  setup(build: import('esbuild').PluginBuild) {
    build.onResolve({ filter: /^@cudnn-rnn\/native-wasm\// }, ({ path }) => {
      const file = `${path.slice(path.lastIndexOf('/') + 1)}.js`
      const dist = join(import.meta.dirname, 'dist')
      mkdirSync(dist, { recursive: true })
      copyFileSync(require.resolve(path), join(dist, file))
      return { path: `./${file}`, external: true }
    })
  },
}

export default packageBuild({ esbuildPlugins: [modulesBeside] })
