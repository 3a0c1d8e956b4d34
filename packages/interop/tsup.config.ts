import { packageBuild } from '../../scripts/tsup_preset.js'

export default packageBuild({}, { hdf5_worker: 'src/files/hdf5_worker.ts' })
