import { packageBuild } from '../../scripts/build/tsup_preset.js'

const subpaths = [
  'canonical',
  'cells',
  'checkpoint',
  'ctc',
  'distributed',
  'executors',
  'graphs',
  'interop',
  'layers',
  'saveable',
  'tasks',
  'train',
]

export default packageBuild({
  entry: {
    ...Object.fromEntries(['index', ...subpaths].map((name) => [name, `src/${name}.ts`])),
    report: 'src/report/index.ts',
  },
  // Among the largest packages of an installation: most of it are the scripts of pages.
  ...{ minify: true, keepNames: true },
})
