/** Padding of a sequence: none; zeros on both sides, so that stride 1 keeps the length; or zeros before it only. */
export const PADDINGS = ['valid', 'same', 'causal'] as const

export type Padding = (typeof PADDINGS)[number]

/** Windows over time and over the rows of a picture. TensorFlow's rules. */
export interface WindowRule {
  /** Steps and rows of a window. */
  readonly size: readonly [time: number, height: number]
  readonly strides: readonly [time: number, height: number]
  /** A number: so many zeros on each side of time, as PyTorch counts them. */
  readonly padding: Padding | number
}

/** A batch of sequences of pictures' columns, each of `height` rows. */
export interface WindowedBatch {
  readonly time: number
  readonly batch: number
  readonly height: number
  readonly lengths: Int32Array | null
}

/** Windows of a batch, as places in a table of its rows: place ((t·B)+b)·height + h. */
export interface Windows {
  readonly time: number
  readonly height: number
  /** [taps][time·batch·height], or with the taps innermost. Place T·B·height stands for zeros. */
  readonly places: Int32Array
  /** Whether the row of zeros is used. */
  readonly hasZeros: boolean
}

/** How many windows `count` steps have. */
export function windowCount(count: number, size: number, stride: number, padding: Padding | number): number {
  if (padding === 'same' || padding === 'causal') return Math.ceil(count / stride)
  const padded = count === 0 || padding === 'valid' ? count : count + 2 * padding
  return padded < size ? 0 : Math.floor((padded - size) / stride) + 1
}

/** Steps of padding before the first of `count` steps. */
function paddingBefore(count: number, size: number, stride: number, padding: Padding | number): number {
  if (typeof padding === 'number') return padding
  if (padding === 'valid') return 0
  if (padding === 'causal') return size - 1
  const all = (windowCount(count, size, stride, padding) - 1) * stride + size - count
  return Math.floor(Math.max(0, all) / 2)
}

/**
 * The places under every window. A row's padding follows its own length, so that a row computes the same in any batch; windows
 * past its length hold zeros.
 *
 * @param outside places in the padding: the row of zeros, or the first place of the window that is inside, which changes no
 *   maximum.
 * @param order `taps first` as a sequence over the taps, `taps last` as columns of a product
 */
export function windowsOf(
  { time, batch, height, lengths }: WindowedBatch,
  { size, strides, padding }: WindowRule,
  outside: 'zeros' | 'inside',
  order: 'taps first' | 'taps last',
): Windows {
  const [taps, zeros] = [size[0] * size[1], time * batch * height]
  const outTime = windowCount(time, size[0], strides[0], padding)
  // A padding by number belongs to time, as does a causal one: there is one row.
  const ofHeight = padding === 'same' ? padding : 'valid'
  const outHeight = windowCount(height, size[1], strides[1], ofHeight)
  const top = paddingBefore(height, size[1], strides[1], ofHeight)
  const windows = outTime * batch * outHeight
  const places = new Int32Array(windows * taps)
  const under = new Int32Array(taps)
  let hasZeros = false
  for (let b = 0; b < batch; b++) {
    const length = lengths?.[b] ?? time
    const count = windowCount(length, size[0], strides[0], padding)
    const before = paddingBefore(length, size[0], strides[0], padding)
    for (let t = 0; t < outTime; t++) {
      for (let h = 0; h < outHeight; h++) {
        let inside = zeros
        for (let tap = 0; tap < taps; tap++) {
          const at = t * strides[0] + Math.floor(tap / size[1]) - before
          const row = h * strides[1] + (tap % size[1]) - top
          const isInside = t < count && at >= 0 && at < length && row >= 0 && row < height
          under[tap] = isInside ? (at * batch + b) * height + row : -1
          if (isInside && inside === zeros) inside = under[tap]
        }
        const window = (t * batch + b) * outHeight + h
        for (let tap = 0; tap < taps; tap++) {
          let place = under[tap]
          if (place === -1) place = outside === 'inside' ? inside : zeros
          if (place === zeros) hasZeros = true
          places[order === 'taps first' ? tap * windows + window : window * taps + tap] = place
        }
      }
    }
  }
  return { time: outTime, height: outHeight, places, hasZeros }
}
