import { HeatKey, HeatMap, type Matrix } from '../drawing/heat_map.js'
import { type GateActivity, TRACES, type Trace } from './gate_activity.js'

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

/** The gates of an LSTM over a text: a column for each character, a row for each unit. */
export function ActivityMaps({ activity, text }: { readonly activity: GateActivity; readonly text: string }) {
  const symbols = [...text]
  const units = activity.input.length / symbols.length
  return (
    <>
      <HeatKey limit={1} />
      <div class="gates">
        {TRACES.map((trace) => (
          <figure key={trace}>
            <figcaption>{LABELS[trace]}</figcaption>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it */}
            <section class="scroll" tabIndex={0} aria-label={`${trace} over the text`}>
              <HeatMap
                label={`${trace} of ${Math.min(units, MOST_UNITS)} units at ${symbols.length} characters`}
                matrix={unitsByTime(activity[trace], units, symbols.length)}
                limit={1}
                scale={CELL}
              />
              <div class="characters" aria-hidden="true">
                {symbols.map((symbol, index) => (
                  <span key={index}>{symbol === '\n' ? '↵' : symbol}</span>
                ))}
              </div>
            </section>
          </figure>
        ))}
      </div>
    </>
  )
}

/** [T,H] as a picture [units,T]. */
function unitsByTime(values: Float32Array, units: number, steps: number): Matrix {
  const rows = Math.min(units, MOST_UNITS)
  const turned = new Float32Array(rows * steps)
  for (let unit = 0; unit < rows; unit++) {
    for (let t = 0; t < steps; t++) turned[unit * steps + t] = values[t * units + unit]
  }
  return { rows, columns: steps, values: turned }
}
