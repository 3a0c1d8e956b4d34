import type { Tensor } from '@cudnn-rnn/rnn'

/** A stream of frames [512] to probabilities [1]. */
export interface SpeechStream {
  step(frame: Tensor): Promise<Tensor>
  close(): void
}

/** The part of a pool that the server uses: worker threads, or one pool in this thread. */
export interface SpeechPool {
  open(): SpeechStream
  stats(): { readonly maxStreams: number; readonly waiting: number; readonly lostWorkers?: number }
  dispose(): void
}
