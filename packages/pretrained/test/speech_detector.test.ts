import { expect, it } from 'vitest'
import { SpeechDetector, type SpeechEvent } from '../src/speech_detector.js'

/** Events of probabilities, one for each 0.05 s. */
function eventsOf(probabilities: readonly number[]): (SpeechEvent | undefined)[] {
  const detector = new SpeechDetector(0.05)
  return [...probabilities.map((probability) => detector.next(probability)), detector.finish()].filter(Boolean)
}

it('SpeechDetector begins at 0.5 and ends after a tenth of a second below 0.35', () => {
  expect(eventsOf([0.49, 0.5, 0.1, 0.1, 0.1, 0.9])).toEqual([
    { type: 'speech_start', time: 0.05 },
    { type: 'speech_end', time: 0.1 },
    { type: 'speech_start', time: 0.25 },
    { type: 'speech_end', time: expect.closeTo(0.3) },
  ])
})

it('SpeechDetector ignores short silence and the range between both limits', () => {
  expect(eventsOf([0.6, 0.1, 0.6, 0.4, 0.4, 0.4, 0.4])).toEqual([
    { type: 'speech_start', time: 0 },
    { type: 'speech_end', time: expect.closeTo(0.35) },
  ])
  expect(eventsOf([0.1, 0.2])).toEqual([])
})

it('SpeechDetector counts silence from its first frame, and forgets it when speech continues', () => {
  // 0.1 at frames 1 and 2, speech, then silence from frame 4 to 6.
  expect(eventsOf([0.5, 0.1, 0.1, 0.5, 0.1, 0.1, 0.1])).toEqual([
    { type: 'speech_start', time: 0 },
    { type: 'speech_end', time: expect.closeTo(0.2) },
  ])
})

it('SpeechDetector neither begins nor ends silence between both limits', () => {
  // 0.4 is below the limit of speech and above that of silence: the silence of frame 1 continues through frames 2 and 3.
  expect(eventsOf([0.9, 0.34, 0.4, 0.4, 0.9])).toEqual([
    { type: 'speech_start', time: 0 },
    { type: 'speech_end', time: expect.closeTo(0.05) },
    { type: 'speech_start', time: expect.closeTo(0.2) },
    { type: 'speech_end', time: expect.closeTo(0.25) },
  ])
  expect(eventsOf([0.35, 0.49, 0.4999])).toEqual([])
})

it('SpeechDetector ends speech once: after its end, the end of the input has no event', () => {
  const detector = new SpeechDetector(0.2)
  expect(detector.finish()).toBeUndefined()
  expect(detector.next(0.9)).toEqual({ type: 'speech_start', time: 0 })
  expect(detector.next(0)).toBeUndefined()
  expect(detector.next(0)).toEqual({ type: 'speech_end', time: 0.2 })
  expect(detector.finish()).toBeUndefined()
  detector.next(0.9)
  expect(detector.finish()).toEqual({ type: 'speech_end', time: expect.closeTo(0.8) })
  expect(detector.finish()).toBeUndefined()
})
