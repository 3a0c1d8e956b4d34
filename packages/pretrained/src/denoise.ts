import { BLOCK, type Dtln, SHIFT } from './dtln.js'

/**
 * Runs a recording through a model frame by frame, as a microphone would deliver it.
 *
 * @param step computes each frame: a caller times it, reports progress or throws to end.
 * @returns the clean samples, as many as `noisy` has.
 */
export async function denoise(
  model: Dtln,
  noisy: Float32Array,
  step: (compute: () => Promise<Float32Array>) => Promise<Float32Array> = (compute) => compute(),
): Promise<Float32Array> {
  const delay = BLOCK - SHIFT
  const samples = new Float32Array(noisy.length)
  for (let start = 0; start < noisy.length + delay; start += SHIFT) {
    const frame = new Float32Array(SHIFT)
    frame.set(noisy.subarray(start, Math.min(start + SHIFT, noisy.length)))
    const clean = await step(() => model.process(frame))
    // The first samples out are of the time before the first ones in.
    if (start >= delay) samples.set(clean.subarray(0, noisy.length + delay - start), start - delay)
  }
  return samples
}
