/**
 * Magnitudes [rows,K] of spectra [rows,2·K] that have the real parts of all frequencies before the imaginary ones, as a
 * transform by convolution gives them.
 */
export function splitMagnitudes(spectra: ArrayLike<number>, bins: number): Float32Array {
  const magnitudes = new Float32Array(spectra.length / 2)
  for (let row = 0; row < magnitudes.length / bins; row++) {
    for (let k = 0; k < bins; k++) {
      const at = row * 2 * bins + k
      const real = spectra[at]
      const imaginary = spectra[at + bins]
      // Not Math.hypot, which takes several times as long: squares of single-precision values do not overflow here.
      magnitudes[row * bins + k] = Math.sqrt(real * real + imaginary * imaginary)
    }
  }
  return magnitudes
}
