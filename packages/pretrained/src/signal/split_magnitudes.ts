/**
 * Magnitudes [rows,K] of spectra [rows,2·K] that have the real parts of all frequencies before the imaginary ones, as a
 * transform by convolution gives them.
 */
export function splitMagnitudes(spectra: ArrayLike<number>, bins: number): Float32Array {
  const magnitudes = new Float32Array(spectra.length / 2)
  for (let row = 0; row < magnitudes.length / bins; row++) {
    for (let k = 0; k < bins; k++) {
      const at = row * 2 * bins + k
      magnitudes[row * bins + k] = Math.hypot(spectra[at], spectra[at + bins])
    }
  }
  return magnitudes
}
