import { packageBuild } from '../../scripts/build/tsup_preset.js'

export default packageBuild({ shims: true })
