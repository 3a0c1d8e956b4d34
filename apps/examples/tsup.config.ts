import { packageBuild } from '../../scripts/build/tsup_preset.js'

export default packageBuild({
  entry: { bin: 'src/bin.ts', voice_worker: 'src/voice_server/voice_worker.ts' },
  ...{ format: ['esm'], dts: false, platform: 'node', target: 'node20' },
})
