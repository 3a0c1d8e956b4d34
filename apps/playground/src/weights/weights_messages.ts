import type { ExportFormat } from '@cudnn-rnn/rnn/interop'
import type { Matrix } from '../drawing/heat_map.js'

/** Inputs that need no data: independent normal values; a 1 in every feature at the first step; a text, a character a step. */
export type InputKind = 'random' | 'impulse' | 'text'

/** The number of the whole model among the networks. */
export const WHOLE = -1

export type WeightsRequest =
  | { readonly kind: 'open'; readonly files: readonly File[] }
  | { readonly kind: 'show'; readonly network: number }
  | {
      readonly kind: 'run'
      readonly network: number
      readonly input: InputKind
      readonly text: string
      readonly steps: number
    }
  | { readonly kind: 'convert'; readonly network: number; readonly format: ExportFormat | 'tensorflow' }

/** A network of a file, in a line. */
export interface NetworkSummary {
  readonly name: string
  /** False if only a cell computes it: peepholes, for example. Such a network is run, not shown or converted. */
  readonly isModel: boolean
  readonly description: string
  readonly notes: readonly string[]
}

/** A weight matrix of a gate. */
interface GatePicture {
  readonly gate: string
  /** [H,I] or [H,H] as in the file. */
  readonly shape: readonly number[]
  /** The matrix, or of a large one the strongest value of each block. */
  readonly matrix: Matrix
  readonly limit: number
}

/** The gates of one side of a layer in one direction. */
export interface PictureGroup {
  readonly title: string
  readonly gates: readonly GatePicture[]
}

export type WeightsMessage =
  | {
      readonly kind: 'opened'
      readonly format: string
      readonly networks: readonly NetworkSummary[]
      /** Tensors of the file that are part of no network: names and shapes. */
      readonly others: readonly string[]
      /** The layers of the whole model, if the file describes them. */
      readonly layers: string | undefined
    }
  | { readonly kind: 'shown'; readonly network: number; readonly groups: readonly PictureGroup[] }
  | {
      readonly kind: 'ran'
      readonly output: Matrix
      readonly limit: number
      /** The output as numbers, if they are few. */
      readonly numbers: readonly number[] | undefined
      readonly milliseconds: number
    }
  | { readonly kind: 'converted'; readonly files: readonly File[] }
