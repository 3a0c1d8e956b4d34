import { packageBuild } from '../../scripts/build/tsup_preset.js'

export default packageBuild({ entry: ['src/bin.ts'], format: ['esm'], dts: false, platform: 'node', target: 'node20' })
