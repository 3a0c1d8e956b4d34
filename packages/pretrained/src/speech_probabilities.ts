import type { SileroVad } from './silero_vad.js'
import { FRAME } from './silero_weights.js'

/**
 * Probability of speech for each whole frame of a recording.
 *
 * @param step computes each frame: a caller times it, reports progress or throws to end.
 */
export async function speechProbabilities(
  model: SileroVad,
  samples: Float32Array,
  step: (compute: () => Promise<number>) => Promise<number> = (compute) => compute(),
): Promise<number[]> {
  const probabilities: number[] = []
  for (let start = 0; start + FRAME <= samples.length; start += FRAME) {
    probabilities.push(await step(() => model.process(samples.subarray(start, start + FRAME))))
  }
  return probabilities
}
