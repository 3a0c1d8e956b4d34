import type { SpeechSegment } from '@cudnn-rnn/pretrained'
import type { SpeechModel } from './file_kind.js'

export type SpeechRequest =
  /** Reads a model's file; a later one of the same model replaces it. */
  | { readonly kind: 'open'; readonly model: SpeechModel; readonly file: File }
  /** Runs samples of 16 kHz through every model that was opened. */
  | { readonly kind: 'process'; readonly samples: Float32Array; readonly name: string }

/** Segments of speech and the probability of every frame. */
export interface DetectedSpeech {
  readonly probabilities: Float32Array
  readonly segments: readonly SpeechSegment[]
}

/** A recording without its noise, as samples and as a WAV file. */
export interface DenoisedSpeech {
  readonly samples: Float32Array
  readonly file: File
}

export type SpeechMessage =
  | { readonly kind: 'opened'; readonly model: SpeechModel; readonly name: string }
  /** `share` of the recording, 0..1, that a model has computed. */
  | { readonly kind: 'progress'; readonly model: SpeechModel; readonly share: number }
  | ({ readonly kind: 'detected' } & DetectedSpeech)
  | ({ readonly kind: 'denoised' } & DenoisedSpeech)
  | { readonly kind: 'finished'; readonly seconds: number }
