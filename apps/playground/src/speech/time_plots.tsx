import { FRAME, SAMPLE_RATE, type SpeechSegment } from '@cudnn-rnn/pretrained'
import { useMemo } from 'preact/hooks'
import { waveformOutline } from './waveform_outline.js'

/** Width of a picture in its own units; the page stretches it. */
const COLUMNS = 800
/** Half the height of a waveform in its own units. */
const HALF = 50
const PROBABILITY_HEIGHT = 100

export interface WaveformProps {
  readonly label: string
  readonly samples: Float32Array
  /** The sample that reaches the edge. */
  readonly loudest: number
  readonly segments: readonly SpeechSegment[]
}

/** The outline of a recording over time, speech on a colored ground. */
export function Waveform({ label, samples, loudest, segments }: WaveformProps) {
  const path = useMemo(() => {
    const { low, high } = waveformOutline(samples, COLUMNS)
    const scale = loudest > 0 ? HALF / loudest : 0
    const x = (column: number) => ((column * COLUMNS) / low.length).toFixed(1)
    const y = (value: number) => (HALF - value * scale).toFixed(1)
    // A line of one unit if nothing is heard.
    const above = Array.from(high, (value, column) => `${x(column)} ${y(Math.max(value, 0.5 / scale))}`)
    const below = Array.from(low, (value, column) => `${x(column)} ${y(Math.min(value, -0.5 / scale))}`)
    return scale === 0 ? '' : `M${above.join('L')}L${below.reverse().join('L')}Z`
  }, [samples, loudest])
  return (
    <svg
      class="time-plot"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${COLUMNS} ${2 * HALF}`}
      preserveAspectRatio="none"
    >
      <Speech segments={segments} seconds={samples.length / SAMPLE_RATE} height={2 * HALF} />
      <path class="wave" d={path} />
    </svg>
  )
}

export interface ProbabilityProps {
  readonly label: string
  readonly probabilities: Float32Array
  readonly segments: readonly SpeechSegment[]
  readonly seconds: number
}

/** The probability of speech over time, 0 at the bottom and 1 at the top. */
export function Probability({ label, probabilities, segments, seconds }: ProbabilityProps) {
  const line = useMemo(() => {
    const perFrame = (COLUMNS * FRAME) / SAMPLE_RATE / seconds
    const point = (value: number, frame: number) =>
      `${((frame + 0.5) * perFrame).toFixed(1)},${(PROBABILITY_HEIGHT * (1 - value)).toFixed(1)}`
    return Array.from(probabilities, point).join(' ')
  }, [probabilities, seconds])
  return (
    <svg
      class="time-plot"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${COLUMNS} ${PROBABILITY_HEIGHT}`}
      preserveAspectRatio="none"
    >
      <Speech segments={segments} seconds={seconds} height={PROBABILITY_HEIGHT} />
      <line class="half" x1="0" x2={COLUMNS} y1={PROBABILITY_HEIGHT / 2} y2={PROBABILITY_HEIGHT / 2} />
      <polyline class="probability" points={line} />
    </svg>
  )
}

function Speech({
  segments,
  seconds,
  height,
}: {
  segments: readonly SpeechSegment[]
  seconds: number
  height: number
}) {
  return (
    <>
      {segments.map(({ from, to }) => (
        <rect
          key={from}
          class="speech"
          x={(COLUMNS * from) / seconds}
          width={(COLUMNS * (to - from)) / seconds}
          height={height}
        />
      ))}
    </>
  )
}

/** Labels of the time axis below a plot. */
export function TimeAxis({ seconds }: { readonly seconds: number }) {
  const digits = seconds < 10 ? 1 : 0
  return (
    <div class="time-axis" aria-hidden="true">
      {[0, 0.25, 0.5, 0.75, 1].map((share) => (
        <span key={share}>{(share * seconds).toFixed(digits)} s</span>
      ))}
    </div>
  )
}
