import { packageBuild } from '../../scripts/build/tsup_preset.js'

export default packageBuild({
  entry: { index: 'src/index.ts', readers: 'src/readers.ts', files: 'src/files/index.ts' },
  // import.meta.url in CommonJS, from which the native checksum is resolved.
  shims: true,
})
