import { expect, it } from 'vitest'
import { samplesOfPcm16 } from '../../src/voice_server/pcm_samples.js'

it('samples of 16-bit integers', () => {
  const bytes = Buffer.from(Int16Array.of(0, 16384, -32768, 32767).buffer)
  expect([...samplesOfPcm16(bytes)]).toEqual([0, 0.5, -1, 32767 / 32768])
})
