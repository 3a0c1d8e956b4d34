import { packageBuild } from '../../scripts/tsup_preset.js'

export default packageBuild({
  entry: ['src/index.ts', 'src/readers.ts'],
  // import.meta.url in CommonJS, from which the native checksum is resolved.
  shims: true,
})
