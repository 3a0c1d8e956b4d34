import type { FloatArray, RnnDescriptor } from '@cudnn-rnn/canonical'
import { floatAt } from '@cudnn-rnn/executor-kit'

/**
 * The clip of the cell state as the element type holds it (Infinity for none): only then does a clipped state that was
 * stored and read again still compare equal to the clip, by which the backward detects it.
 */
export function storedCellClip(descriptor: RnnDescriptor, allocate: (length: number) => FloatArray): number {
  const stored = allocate(1)
  stored[0] = descriptor.cellClip ?? Number.POSITIVE_INFINITY
  return floatAt(stored, 0)
}
