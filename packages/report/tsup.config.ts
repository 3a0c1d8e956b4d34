import { packageBuild } from '../../scripts/tsup_preset.js'

// Among the largest packages of an installation: most of it are the scripts of pages.
export default packageBuild({ minify: true, keepNames: true })
