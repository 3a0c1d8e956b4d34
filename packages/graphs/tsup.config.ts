import { packageBuild } from '../../scripts/tsup_preset.js'

export default packageBuild()
