import { packageProject } from '../../scripts/vitest_preset.js'

export default packageProject('tfjs')
