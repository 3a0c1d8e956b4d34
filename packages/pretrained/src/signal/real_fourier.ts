import FFT from 'fft.js'

/** The spectrum of a block of N real samples: real and imaginary part of each frequency 0..N/2 in turn. */
export type Spectrum = number[]

/** Fourier transform of blocks of N real samples, N a power of two (fft.js). */
export class RealFourier {
  readonly size: number
  readonly #fft: FFT

  constructor(size: number) {
    this.size = size
    this.#fft = new FFT(size)
  }

  /** Frequencies of a spectrum. */
  get bins(): number {
    return this.size / 2 + 1
  }

  transform(samples: Float32Array): Spectrum {
    const spectrum = this.#fft.createComplexArray()
    this.#fft.realTransform(spectrum, samples)
    return spectrum
  }

  /** √(re² + im²) of each frequency [bins]. */
  magnitudes(spectrum: Spectrum): Float32Array {
    const magnitudes = new Float32Array(this.bins)
    for (let k = 0; k < this.bins; k++) magnitudes[k] = Math.hypot(spectrum[2 * k], spectrum[2 * k + 1])
    return magnitudes
  }

  /** The samples [N] of a spectrum whose frequencies are scaled by `gains` [bins]. Overwrites the spectrum. */
  inverse(spectrum: Spectrum, gains: Float32Array): Float32Array {
    for (let k = 0; k < this.bins; k++) {
      spectrum[2 * k] *= gains[k]
      spectrum[2 * k + 1] *= gains[k]
    }
    this.#fft.completeSpectrum(spectrum)
    const complex = this.#fft.createComplexArray()
    this.#fft.inverseTransform(complex, spectrum)
    const samples = new Float32Array(this.size)
    for (let n = 0; n < this.size; n++) samples[n] = complex[2 * n]
    return samples
  }
}

/** The Hann window of N samples, for blocks that follow each other: w[n] = (1 - cos(2πn/N))/2. */
export function hannWindow(size: number): Float32Array {
  return Float32Array.from({ length: size }, (_, n) => 0.5 - 0.5 * Math.cos((2 * Math.PI * n) / size))
}
