import { SAMPLE_RATE } from '@cudnn-rnn/pretrained'
import { imageChart } from '@cudnn-rnn/rnn/report'
import { PNG } from 'pngjs'

/** Quieter than this below the loudest point is black. */
const RANGE_DB = 80
/** Colors of the key. */
const KEY_STEPS = 64

export interface SpectrogramOptions {
  readonly title: string
  /** How long the recording is. */
  readonly seconds: number
  /** The level of the brightest color, in dB. */
  readonly loudest: number
}

/** A spectrogram as a chart: seconds to the right, kHz upwards, brighter is louder. */
export function spectrogramChart(
  levels: readonly Float32Array[],
  { title, seconds, loudest }: SpectrogramOptions,
): string {
  const bins = levels[0].length
  const png = new PNG({ width: levels.length, height: bins })
  for (const [x, column] of levels.entries()) {
    for (let k = 0; k < bins; k++) {
      const level = Math.max(0, Math.min(1, 1 + (column[k] - loudest) / RANGE_DB))
      png.data.set([...heat(level), 255], 4 * ((bins - 1 - k) * levels.length + x))
    }
  }
  const colors = Array.from(
    { length: KEY_STEPS },
    (_, step) => `rgb(${heat((step + 0.5) / KEY_STEPS).map(Math.round)})`,
  )
  return imageChart({
    title,
    source: `data:image/png;base64,${PNG.sync.write(png).toString('base64')}`,
    x: { label: 'time in s', from: 0, to: seconds },
    y: { label: 'frequency in kHz', from: 0, to: SAMPLE_RATE / 2000 },
    key: { label: 'level in dB, 0 the loudest', from: -RANGE_DB, to: 0, colors },
  })
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
