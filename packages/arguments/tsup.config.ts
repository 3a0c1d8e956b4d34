import { packageBuild } from '../../scripts/tsup_preset.js'

// Node.js prints the line that throws an uncaught error, which for wrong arguments is here: 4 KB for lines that can be read.
export default packageBuild({ minifyWhitespace: false })
