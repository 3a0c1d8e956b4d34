import { BLOCK, hannWindow, RealFourier } from '@cudnn-rnn/pretrained'

/** Wide enough for a page; longer recordings leave frames out. */
const WIDEST = 1200
/** Keeps the level of silence finite. */
const SILENCE = 1e-6

/** Levels in dB, frame by frame [frames × bins]. */
export function spectrogram(samples: Float32Array): readonly Float32Array[] {
  const fourier = new RealFourier(BLOCK)
  const window = hannWindow(BLOCK)
  const frames = Math.max(1, Math.min(WIDEST, Math.floor(samples.length / BLOCK)))
  const step = Math.max(1, (samples.length - BLOCK) / frames)
  return Array.from({ length: frames }, (_, frame) => {
    const start = Math.floor(frame * step)
    const windowed = window.map((weight, n) => weight * (samples[start + n] ?? 0))
    return fourier.magnitudes(fourier.transform(windowed)).map((magnitude) => 20 * Math.log10(magnitude + SILENCE))
  })
}
