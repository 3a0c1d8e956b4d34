import { elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import type { Trainable } from '../optimizers/trainable.js'

/** Tensors of which each rank has the rows of its share of a batch, and a checkpoint the rows of all. */
export interface BatchRows {
  readonly tensors: readonly Trainable[]
  /** Each tensor's axis that has the rows. */
  readonly axes: readonly number[]
}

/** Copies rows between a whole tensor and a part of it, `from` rows after its beginning. */
export function copyRows(
  direction: 'into whole' | 'into part',
  whole: FloatArray,
  part: FloatArray,
  { shape, axis, from, total }: { shape: readonly number[]; axis: number; from: number; total: number },
): void {
  const inner = elementCount(shape.slice(axis + 1))
  const length = shape[axis] * inner
  const outer = elementCount(shape.slice(0, axis))
  for (let n = 0; n < outer; n++) {
    const start = (n * total + from) * inner
    const ofWhole = whole.subarray(start, start + length)
    const ofPart = part.subarray(n * length, (n + 1) * length)
    if (direction === 'into whole') ofWhole.set(ofPart)
    else ofPart.set(ofWhole)
  }
}
