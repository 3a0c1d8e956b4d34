import { elementCount } from '@cudnn-rnn/canonical'
/**
 * The reads of a convolution of stride 1 with TensorFlow's SAME padding: for every output position, in row-major order, the
 * input positions under the kernel's elements, -1 in the padding. ⌊(k-1)/2⌋ positions of padding come first, the rest last.
 */
export function samePaddingSources(spatial: readonly number[], kernel: readonly number[]): Int32Array {
  const positions = elementCount(spatial)
  const taps = elementCount(kernel)
  const sources = new Int32Array(positions * taps)
  for (let position = 0; position < positions; position++) {
    for (let tap = 0; tap < taps; tap++) sources[position * taps + tap] = sourceOf(position, tap, spatial, kernel)
  }
  return sources
}

function sourceOf(position: number, tap: number, spatial: readonly number[], kernel: readonly number[]): number {
  let source = 0
  let stride = 1
  let restOfPosition = position
  let restOfTap = tap
  for (let axis = spatial.length - 1; axis >= 0; axis--) {
    const size = spatial[axis]
    const width = kernel[axis]
    const at = (restOfPosition % size) + (restOfTap % width) - Math.floor((width - 1) / 2)
    if (at < 0 || at >= size) return -1
    source += at * stride
    stride *= size
    restOfPosition = Math.floor(restOfPosition / size)
    restOfTap = Math.floor(restOfTap / width)
  }
  return source
}
