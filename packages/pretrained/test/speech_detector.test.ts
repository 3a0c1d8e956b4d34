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
