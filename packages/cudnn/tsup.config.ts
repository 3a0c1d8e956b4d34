import { packageBuild } from '../../scripts/tsup_preset.js'

export default packageBuild({ platform: 'node', target: 'node20', shims: true })
