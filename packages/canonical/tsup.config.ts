import { packageBuild } from '../../scripts/build/tsup_preset.js'

export default packageBuild({
  entry: { index: 'src/index.ts', rules: 'src/rules/index.ts' },
  // Node.js prints the line that throws an uncaught error, which for wrong arguments is here: 4 KB for lines that can be read.
  minifyWhitespace: false,
})
