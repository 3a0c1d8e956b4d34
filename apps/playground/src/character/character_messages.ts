import type { GateActivity } from './gate_activity.js'

/** Sizes and length of a training. */
export interface CharacterSettings {
  readonly units: number
  readonly layers: number
  readonly steps: number
}

export type CharacterRequest =
  | { readonly kind: 'train'; readonly text: string; readonly settings: CharacterSettings }
  /** Continues `prompt`. */
  | { readonly kind: 'write'; readonly prompt: string; readonly temperature: number; readonly length: number }
  /** Reads `text` at the pace of a reader and reports the gates of the first layer at every character. */
  | { readonly kind: 'watch'; readonly text: string }
  /** The model as files. */
  | { readonly kind: 'save'; readonly format: 'checkpoint' | 'safetensors' | 'onnx' }

/** A point of the loss curve, in bits per character. */
export interface LossPoint {
  readonly step: number
  readonly bits: number
  readonly heldOutBits?: number | undefined
}

/** A character that was read, and the gates of the first layer at it. */
export interface WatchedCharacter {
  readonly symbol: string
  readonly activity: GateActivity
}

export type CharacterMessage =
  | {
      readonly kind: 'started'
      readonly backend: string
      readonly parameters: number
      readonly symbols: number
      readonly characters: number
    }
  | { readonly kind: 'losses'; readonly points: readonly LossPoint[]; readonly charactersPerSecond: number }
  /** A text that the model wrote at a step of the training. */
  | { readonly kind: 'sample'; readonly step: number; readonly text: string }
  /** The next characters of a continuation. */
  | { readonly kind: 'written'; readonly text: string }
  | ({ readonly kind: 'watched' } & WatchedCharacter)
  | { readonly kind: 'saved'; readonly files: readonly File[] }
