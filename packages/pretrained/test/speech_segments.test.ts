import { expect, it } from 'vitest'
import { speechSegments } from '../src/speech_segments.js'

it('speechSegments has each segment of speech, the one that the recording ends in included', () => {
  expect(speechSegments([0.1, 0.9, 0.2, 0.2, 0.2, 0.2, 0.6, 0.7], 0.05)).toEqual([
    { from: 0.05, to: 0.1 },
    { from: expect.closeTo(0.3), to: 0.4 },
  ])
  expect(speechSegments([0.1, 0.4], 0.05)).toEqual([])
})
