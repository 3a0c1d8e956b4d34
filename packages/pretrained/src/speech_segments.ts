import { SpeechDetector } from './speech_detector.js'

/** A segment of speech, in seconds from the first sample. */
export interface SpeechSegment {
  readonly from: number
  readonly to: number
}

/** The segments of speech in a recording whose frames have these probabilities, by the rules of {@link SpeechDetector}. */
export function speechSegments(probabilities: readonly number[], secondsPerFrame: number): SpeechSegment[] {
  const detector = new SpeechDetector(secondsPerFrame)
  const segments: SpeechSegment[] = []
  let from = 0
  for (const event of [...probabilities.map((value) => detector.next(value)), detector.finish()]) {
    if (event?.type === 'speech_start') from = event.time
    else if (event?.type === 'speech_end') segments.push({ from, to: event.time })
  }
  return segments
}
