import FFT from 'fft.js'
import { PNG } from 'pngjs'
import { BLOCK } from './dtln.js'

const BINS = BLOCK / 2
/** Quieter than this below the loudest point is black. */
const RANGE_DB = 80
/** Wide enough for a page; longer recordings leave frames out. */
const WIDEST = 1200

/** Levels in dB, frame by frame [frames × bins]. */
export function spectrogram(samples: Float32Array): readonly Float32Array[] {
  const fft = new FFT(BLOCK)
  const frames = Math.max(1, Math.min(WIDEST, Math.floor(samples.length / BLOCK)))
  const step = Math.max(1, (samples.length - BLOCK) / frames)
  return Array.from({ length: frames }, (_, frame) => {
    const start = Math.floor(frame * step)
    const windowed = Float32Array.from({ length: BLOCK }, (__, n) => {
      return (samples[start + n] ?? 0) * (0.5 - 0.5 * Math.cos((2 * Math.PI * n) / BLOCK))
    })
    const spectrum = fft.createComplexArray()
    fft.realTransform(spectrum, windowed)
    return Float32Array.from({ length: BINS }, (__, k) => {
      return 10 * Math.log10(spectrum[2 * k]! ** 2 + spectrum[2 * k + 1]! ** 2 + 1e-12)
    })
  })
}

/** A spectrogram as an image element: time to the right, frequency upwards, brighter is louder than `loudest` − 80 dB. */
export function spectrogramImage(levels: readonly Float32Array[], loudest: number, label: string): string {
  const png = new PNG({ width: levels.length, height: BINS })
  for (const [x, column] of levels.entries()) {
    for (let k = 0; k < BINS; k++) {
      const level = Math.max(0, Math.min(1, 1 + (column[k]! - loudest) / RANGE_DB))
      png.data.set([...heat(level), 255], 4 * ((BINS - 1 - k) * levels.length + x))
    }
  }
  const source = `data:image/png;base64,${PNG.sync.write(png).toString('base64')}`
  return `<img src="${source}" alt="${label}" style="width:100%;height:16rem;image-rendering:auto">`
}

/** Black, violet, orange, pale yellow. */
function heat(level: number): readonly [number, number, number] {
  const part = (from: number, to: number) => Math.max(0, Math.min(1, (level - from) / (to - from)))
  return [
    255 * part(0.1, 0.7),
    235 * part(0.45, 1),
    255 * (part(0, 0.35) * 0.55 - part(0.4, 0.7) * 0.5 + part(0.8, 1) * 0.7),
  ]
}
