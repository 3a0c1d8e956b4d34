import { packageProject } from '../../scripts/vitest_preset.js'

export default packageProject('cpu', { isolate: true })
