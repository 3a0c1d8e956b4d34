import { packageBuild } from '../../scripts/build/tsup_preset.js'

// The largest packages of an installation are made smaller: half of this one are readers of other projects.
export default packageBuild(
  { minify: true, keepNames: true, entry: { index: 'src/index.ts', internal: 'src/internal.ts' } },
  { hdf5_worker: 'src/files/hdf5_worker.ts' },
)
