import { checkArguments, NUMBER, nullable, required, checkIsObject } from '@cudnn-rnn/canonical/rules'

/** The form of the tensors between two layers, as far as it is known before there is data. */
export interface Signal {
  /** [T,B,…] rather than [B,…]. */
  readonly isSequence: boolean
  /** Size of the last dimension; null for class ids (int32), which have none. */
  readonly features: number | null
  /** Columns from this one on were computed from the end of the sequence to its beginning; undefined if none were. */
  readonly reversedFrom?: number | undefined
}

/**
 * "[T,B,8]"; class ids are "[T,B] of class ids".
 *
 * @example
 * ```ts
 * import { signalText } from '@cudnn-rnn/rnn/layers'
 *
 * console.log(signalText({ isSequence: true, features: 8 }), signalText({ isSequence: false, features: null }))
 * // [T,B,8] [B] of class ids
 * ```
 */
export function signalText(signal: Signal): string {
  checkIsObject('describe a signal', 'signal', signal)
  const { isSequence, features } = signal
  checkArguments('describe a signal', { features }, { features: nullable(NUMBER) })
  const leading = isSequence ? 'T,B' : 'B'
  return features === null ? `[${leading}] of class ids` : `[${leading},${features}]`
}

/** Size of the last dimension of a signal of numbers, not class ids: layers check their input when they are built. */
export function featuresOf(signal: Signal): number {
  return required(signal.features, 'layers of numbers refuse a signal of class ids when they are built')
}
