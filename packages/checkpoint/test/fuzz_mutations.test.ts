import { describe, expect, it } from 'vitest'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { fuzzMutations, loadSubject, SUBJECTS } from '../fuzz/fuzz_mutations.js'

/** Mutations of each fixture. The nightly workflow runs `fuzz/mutations.mjs` with a million. */
const MUTATIONS = Number(process.env['CUDNN_RNN_FUZZ_MUTATIONS'] ?? 500)

describe.each(SUBJECTS)('a checkpoint damaged behind right checksums: %s', (folder) => {
  it(`is refused with a code, or is sound in itself, over ${MUTATIONS} mutations`, { timeout: 120_000 }, async () => {
    const { mutations, refused, unchanged, sound } = await fuzzMutations(await loadSubject(folder), MUTATIONS, 1)
    measured({ 'damaged checkpoints': mutations })
    expect(Object.keys(refused)).toEqual(expect.arrayContaining(['ERR_CHECKPOINT_CORRUPT', 'ERR_CHECKPOINT_CHECKSUM']))
    // Both outcomes occur unless the mutations miss the relevant bytes.
    expect(unchanged).toBeGreaterThan(0)
    expect(sound).toBeGreaterThan(0)
  })
})
