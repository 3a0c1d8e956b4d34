import { packageBuild } from '../../scripts/build/tsup_preset.js'

export default packageBuild({ entry: { index: 'src/index.ts', tasks: 'src/tasks/index.ts' } })
