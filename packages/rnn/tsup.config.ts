import { packageBuild } from '../../scripts/tsup_preset.js'

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
  'report',
  'saveable',
  'tasks',
  'train',
]

export default packageBuild({ entry: ['index', ...subpaths].map((name) => `src/${name}.ts`) })
