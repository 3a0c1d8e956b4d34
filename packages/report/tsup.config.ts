import { packageBuild } from '../../scripts/tsup_preset.js'

export default packageBuild({
  // Most of it is Plot and linkedom: without their blanks every installation is 0.6 MB smaller.
  minifyWhitespace: true,
})
