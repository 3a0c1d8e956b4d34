import { expect, it } from 'vitest'
import { readPcm16 } from '../../src/voice_server/voice_session.js'

it('readPcm16 reads 16-bit integers at an odd offset', () => {
  const bytes = Buffer.from([7, ...new Uint8Array(Int16Array.of(0, 16384, -32768, 32767).buffer)]).subarray(1)
  const samples = new Float32Array(6).fill(9)
  readPcm16(bytes, samples, 1)
  expect([...samples]).toEqual([9, 0, 0.5, -1, 32767 / 32768, 9])
})
