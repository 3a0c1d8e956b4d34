import { describeValue } from '@cudnn-rnn/canonical'
import { arrayTypeOf, codedRangeError, liveLength } from '@cudnn-rnn/canonical/rules'
import { floatAt } from '../host/float_at.js'

/**
 * The dropout state of an executor that draws its masks with {@link Philox}: the words drawn so far, as a float64 in the
 * machine's byte order.
 */
export function dropoutStateOf(position: number): Uint8Array {
  return new Uint8Array(Float64Array.of(position).buffer)
}

/** The words drawn so far, of a state made by {@link dropoutStateOf}. Throws RangeError `ERR_DROPOUT_STATE`. */
export function dropoutPositionOf(state: Uint8Array): number {
  const length = arrayTypeOf(state) === 'Uint8Array' ? liveLength(state) : undefined
  const position = length === 8 ? floatAt(new Float64Array(Uint8Array.from(state).buffer), 0) : Number.NaN
  if (Number.isSafeInteger(position) && position >= 0) return position
  throw codedRangeError(
    'ERR_DROPOUT_STATE',
    `Cannot restore the dropout state as it must be the 8 bytes that dropoutState() of a host executor gave: current value is ${describeValue(state)}`,
  )
}
