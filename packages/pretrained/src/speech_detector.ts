/** An event of one connection; times are seconds since its first sample. */
export type SpeechEvent =
  | { readonly type: 'speech_start'; readonly time: number }
  | { readonly type: 'speech_end'; readonly time: number }

/** Speech begins at this probability and ends below the lower one, as in Silero's own iterator. */
const BEGIN = 0.5
const END = 0.35
/** Silence shorter than this does not end speech, in seconds. */
const SHORTEST_SILENCE = 0.1

/** Turns the probabilities of frames into the beginning and end of speech. */
export class SpeechDetector {
  readonly #secondsPerFrame: number
  #frame = 0
  #isSpeech = false
  #silentSince: number | undefined

  constructor(secondsPerFrame: number) {
    this.#secondsPerFrame = secondsPerFrame
  }

  /** Takes the probability of the next frame. */
  next(probability: number): SpeechEvent | undefined {
    const time = this.#frame++ * this.#secondsPerFrame
    if (!this.#isSpeech) {
      if (probability < BEGIN) return undefined
      this.#isSpeech = true
      return { type: 'speech_start', time }
    }
    if (probability >= BEGIN) this.#silentSince = undefined
    else if (probability < END) this.#silentSince ??= time
    const since = this.#silentSince
    if (since === undefined || time - since < SHORTEST_SILENCE) return undefined
    return this.#ended(since)
  }

  /** The end of speech at the end of the input, if there was any. */
  finish(): SpeechEvent | undefined {
    return this.#isSpeech ? this.#ended(this.#frame * this.#secondsPerFrame) : undefined
  }

  #ended(time: number): SpeechEvent {
    this.#isSpeech = false
    this.#silentSince = undefined
    return { type: 'speech_end', time }
  }
}
