import type { FloatArray, RnnDescriptor } from '@cudnn-rnn/canonical'
import { floatAt } from '@cudnn-rnn/ops/executor'

/**
 * The clip of the cell state as the element type holds it (Infinity for none): only then does a clipped state that was
 * stored and read again still compare equal to the clip, by which the backward detects it.
 */
export function storedCellClip(descriptor: RnnDescriptor, allocate: (length: number) => FloatArray): number {
  const stored = allocate(1)
  stored[0] = descriptor.cellClip ?? Number.POSITIVE_INFINITY
  return floatAt(stored, 0)
}

/**
 * Clips the cell state that enters a pass or a stream, in place: cuDNN clips c wherever it uses it, the initial state
 * included. NaN stays NaN.
 */
export function clipInitialCells(cells: FloatArray, clip: number): void {
  for (let k = 0; k < cells.length; k++) cells[k] = Math.min(clip, Math.max(-clip, floatAt(cells, k)))
}

/** Sets the gradient of the initial cell state to 0 if the clip holds the state. */
export function clipInitialCellGradients(gradients: FloatArray, initialCells: FloatArray, clip: number): void {
  for (let k = 0; k < gradients.length; k++) if (Math.abs(floatAt(initialCells, k)) >= clip) gradients[k] = 0
}
