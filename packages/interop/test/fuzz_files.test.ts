import { expect, it } from 'vitest'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { bundler } from './bundled_package.js'

/** packages/fuzzing/run.mjs builds any number of files, in processes whose memory it measures. */
const FILES = Number(process.env['CUDNN_RNN_FUZZ_FILES'] ?? 300)
const SEED = Number(process.env['CUDNN_RNN_FUZZ_SEED'] ?? 1)

type Program = typeof import('../fuzz/constructed_files.js') & typeof import('@cudnn-rnn/fuzzing')

// The grammar writes with the HDF5 library of this thread, so the damaged files must be read in another.
const { bundled } = await bundler()
const { fuzzFiles, GRAMMARS, isCoded, SHARES } = await bundled<Program>(
  'fuzz',
  "export * from '../fuzz/constructed_files.js'; export * from '@cudnn-rnn/fuzzing'",
)

it(`${FILES} constructed files are read or refused with a code`, { timeout: 600_000 }, async () => {
  const shares = { ...SHARES, hdf5: 4 }
  const { files, outcomes } = await fuzzFiles({ grammars: GRAMMARS, shares, files: FILES, seed: SEED, isCoded })
  measured({ 'constructed files': files })
  // Some files of each grammar are valid; otherwise the grammar tests only early rejections.
  for (const grammar of Object.keys(GRAMMARS)) {
    expect(outcomes[grammar], grammar).toMatchObject({
      read: expect.any(Number),
      ERR_WEIGHTS_CORRUPT: expect.any(Number),
    })
  }
})
