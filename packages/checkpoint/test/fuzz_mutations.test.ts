import { describe, expect, it } from 'vitest'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { fuzzMutations, loadSubject, SUBJECTS } from '../fuzz/fuzz_mutations.js'

/** Mutations of each fixture. The nightly workflow runs `fuzz/mutations.mjs` with a million. */
const MUTATIONS = Number(process.env['CUDNN_RNN_FUZZ_MUTATIONS'] ?? 500)

const met = { unchanged: 0, sound: 0 }

describe('a checkpoint damaged behind right checksums', () => {
  it.each(SUBJECTS)(
    `%s: is refused with a code, or is sound in itself, over ${MUTATIONS} mutations`,
    { timeout: 120_000 },
    async (folder) => {
      const { mutations, refused, unchanged, sound } = await fuzzMutations(await loadSubject(folder), MUTATIONS, 1)
      measured({ 'damaged checkpoints': mutations })
      const codes = ['ERR_CHECKPOINT_CORRUPT', 'ERR_CHECKPOINT_CHECKSUM']
      expect(Object.keys(refused)).toEqual(expect.arrayContaining(codes))
      met.unchanged += unchanged
      met.sound += sound
    },
  )

  // In V1 one mutation in some hundred is sound: a short run meets it in other files only.
  it('is not always refused, as the mutations reach the bytes that matter', () => {
    expect(met.unchanged).toBeGreaterThan(0)
    expect(met.sound).toBeGreaterThan(0)
  })
})
