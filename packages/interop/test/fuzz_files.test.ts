import { fuzzFiles } from '@cudnn-rnn/fuzzing'
import { expect, it } from 'vitest'
import { GRAMMARS, isCoded } from '../fuzz/constructed_files.js'

/** `fuzz/constructed.mjs` builds as many files as one likes, in a process whose memory it bounds. */
const FILES = Number(process.env['CUDNN_RNN_FUZZ_FILES'] ?? 1200)
const SEED = Number(process.env['CUDNN_RNN_FUZZ_SEED'] ?? 1)

it(`${FILES} constructed files are read or refused with a code`, { timeout: 600_000 }, async () => {
  const { outcomes } = await fuzzFiles({ grammars: GRAMMARS, files: FILES, seed: SEED, isCoded })
  // Some of each grammar are read whole, or the grammar does not reach what it should.
  for (const grammar of Object.keys(GRAMMARS)) {
    expect(outcomes[grammar], grammar).toMatchObject({
      read: expect.any(Number),
      ERR_WEIGHTS_CORRUPT: expect.any(Number),
    })
  }
})
