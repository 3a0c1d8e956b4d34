import { fuzzFiles } from '@cudnn-rnn/fuzzing'
import { expect, it } from 'vitest'
import { GRAMMARS, isCoded } from '../fuzz/constructed_bundles.js'

/** `packages/fuzzing/run.mjs` builds any number of them, in a separate process. */
const FILES = Number(process.env['CUDNN_RNN_FUZZ_FILES'] ?? 150)
const SEED = Number(process.env['CUDNN_RNN_FUZZ_SEED'] ?? 1)

it(`${FILES} constructed bundles are read or refused with a code`, { timeout: 600_000 }, async () => {
  const { outcomes } = await fuzzFiles({ grammars: GRAMMARS, files: FILES, seed: SEED, isCoded })
  expect(outcomes['bundle']).toMatchObject({ read: expect.any(Number), ERR_CHECKPOINT_CORRUPT: expect.any(Number) })
})
