import type { CellMode, Direction, RnnOptions } from '@cudnn-rnn/canonical'
import pytorch from '../../../fixtures/rnn/pytorch.json'
import tensorflow from '../../../fixtures/rnn/tensorflow.json'

/** One network of fixtures/rnn/*.json; the schema is in the README there. */
export interface FixtureCase {
  readonly id: string
  readonly cellMode: CellMode
  readonly numLayers: number
  readonly numUnits: number
  readonly inputSize: number
  readonly direction: Direction
  readonly inputMode: NonNullable<RnnOptions['inputMode']>
  readonly numProj?: number
  readonly cellClip?: number
  readonly T: number
  readonly B: number
  readonly sequenceLengths?: readonly number[]
  readonly initialState: boolean
  readonly weightScale?: number
  /** Base64 of little-endian float64. */
  readonly expected: Readonly<Record<string, string>>
}

/** Every case of both oracles, by the oracle's name. */
export const FIXTURES = {
  PyTorch: pytorch.cases as unknown as readonly FixtureCase[],
  TensorFlow: tensorflow.cases as unknown as readonly FixtureCase[],
} as const

/** The numbers of one expected array. */
export function decodeFloat64(text: string): Float64Array {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  return new Float64Array(bytes.buffer)
}
