import { useLayoutEffect, useRef } from 'preact/hooks'
import { HeatKey, HeatMap, type Matrix } from '../drawing/heat_map.js'
import type { WatchedCharacter } from './character_messages.js'
import { TRACES, type Trace } from './gate_activity.js'

/** Units that are shown: more than a screen has room for say no more. */
const MOST_UNITS = 48
const CELL = { x: 12, y: 3 }

const LABELS: Readonly<Record<Trace, string>> = {
  input: 'input gate',
  forget: 'forget gate',
  'new memory': 'new memory',
  output: 'output gate',
  'cell state': 'cell state',
  'hidden state': 'hidden state',
}

interface ActivityMapsProps {
  /** The characters that were read so far. */
  readonly read: readonly WatchedCharacter[]
  /** Whether more follow: the newest column is then kept in sight. */
  readonly isReading: boolean
}

/** The gates of an LSTM over a text: a column for each character, a row for each unit. */
export function ActivityMaps({ read, isReading }: ActivityMapsProps) {
  return (
    <>
      <HeatKey limit={1} />
      <div class="gates">
        {TRACES.map((trace) => (
          <figure key={trace}>
            <figcaption>{LABELS[trace]}</figcaption>
            <ActivityMap trace={trace} read={read} isReading={isReading} />
          </figure>
        ))}
      </div>
    </>
  )
}

function ActivityMap({ trace, read, isReading }: ActivityMapsProps & { readonly trace: Trace }) {
  const scrolled = useRef<HTMLElement>(null)
  const count = read.length
  useLayoutEffect(() => {
    if (isReading && count > 0 && scrolled.current !== null) scrolled.current.scrollLeft = scrolled.current.scrollWidth
  }, [count, isReading])
  const matrix = unitsByTime(read.map(({ activity }) => activity[trace]))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
    <section class="scroll" ref={scrolled} tabIndex={0} aria-label={`${trace} over the text`}>
      <HeatMap
        label={`${trace} of ${matrix.rows} units at ${count} characters`}
        matrix={matrix}
        limit={1}
        scale={CELL}
      />
      <div class="characters" aria-hidden="true">
        {read.map(({ symbol }, index) => (
          <span key={index}>{symbol === '\n' ? '↵' : symbol}</span>
        ))}
      </div>
    </section>
  )
}

/** Steps of [H] as a picture [units,T]. */
function unitsByTime(steps: readonly Float32Array[]): Matrix {
  const columns = steps.length
  const rows = Math.min(steps[0]?.length ?? 0, MOST_UNITS)
  const values = new Float32Array(rows * columns)
  for (const [t, step] of steps.entries())
    for (let unit = 0; unit < rows; unit++) values[unit * columns + t] = step[unit]
  return { rows, columns, values }
}
