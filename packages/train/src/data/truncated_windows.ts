import type { Tensor } from '@cudnn-rnn/canonical'
import {
  arrayTypeOf,
  checkArguments,
  checkOptions,
  codedRangeError,
  integerFrom,
  kind,
  type OptionsOf,
} from '@cudnn-rnn/canonical/rules'
import { fingerprintOf } from './fingerprint.js'
import { indexedSource, type Source } from './source.js'

/** One window of truncated back-propagation through time. */
export interface TokenWindow {
  /** [T,B] */
  readonly inputs: Tensor<Int32Array>
  /** [T,B]: the inputs one step later. */
  readonly labels: Tensor<Int32Array>
  /** True for the first window: the state starts at zero. Otherwise row b continues where row b of the previous window ended. */
  readonly restarts: boolean
}

const IDS = kind('an Int32Array', (ids): ids is Int32Array => arrayTypeOf(ids) === 'Int32Array')

const OPTIONS = {
  /** T, steps of a window. */
  time: integerFrom(1),
  /** B, rows that are read side by side. */
  batch: integerFrom(1),
}

interface WindowOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * Cuts a sequence of ids into B rows of equal length that are read side by side, T steps at a time, so that a state can
 * be carried from window to window. A last incomplete window is dropped.
 *
 * @throws RangeError `ERR_SEQUENCE_TOO_SHORT` when there is not one window
 * @example
 * ```ts
 * import { Dataset, truncatedWindows } from '@cudnn-rnn/rnn/train'
 *
 * const ids = Int32Array.of(0, 1, 2, 3, 4, 5, 6)
 * for await (const { inputs, labels, restarts } of new Dataset(truncatedWindows(ids, { time: 3, batch: 2 }))) {
 *   console.log(inputs.data, labels.data, restarts) // [0, 3, 1, 4, 2, 5] [1, 4, 2, 5, 3, 6] true
 * }
 * ```
 */
export function truncatedWindows(ids: Int32Array, options: WindowOptions): Source<TokenWindow> {
  checkArguments('cut windows', { ids }, { ids: IDS })
  const { time, batch } = checkOptions('cut windows', options, OPTIONS)
  const laneLength = Math.floor((ids.length - 1) / batch)
  const windows = Math.floor(laneLength / time)
  if (!(windows >= 1)) {
    throw codedRangeError(
      'ERR_SEQUENCE_TOO_SHORT',
      `Cannot cut windows as ${batch} rows of ${time} steps need at least ${batch * time + 1} ids: current number is ${ids.length}`,
      { time, batch, length: ids.length },
    )
  }
  const window = (index: number, shift: number): Tensor<Int32Array> => {
    const data = new Int32Array(time * batch)
    for (let t = 0; t < time; t++) {
      for (let b = 0; b < batch; b++) data[t * batch + b] = ids[b * laneLength + index * time + t + shift]
    }
    return { data, shape: [time, batch] }
  }
  const text = () => `windows of ${time} steps × ${batch} rows of ${ids.length} ids ${fingerprintOf(ids)}`
  return indexedSource(
    () => windows,
    (index) => ({ inputs: window(index, 0), labels: window(index, 1), restarts: index === 0 }),
    text,
  )
}
