// Ten series such as people forecast, made from a seed: seasons, trends, their changes, shifts of level, spikes, cycles.
import { Philox } from '../../packages/rnn/dist/executors.js'

const DAY = 24 * 3600 * 1000
const wave = (t, period, phase = 0) => Math.sin((2 * Math.PI * t) / period + phase)
const month = (t) => new Date(Date.UTC(1980, t, 1))
const quarter = (t) => new Date(Date.UTC(1980, 3 * t, 1))
const year = (t) => new Date(Date.UTC(1600 + t, 0, 1))
const day = (t) => new Date(Date.UTC(2015, 0, 5) + t * DAY)
const hour = (t) => new Date(Date.UTC(2015, 0, 5) + (t * DAY) / 24)

/** Name, date of a step, length, and a function that makes the value of each step in turn. */
const SERIES = [
  // Growth in percent, and a season that grows with it.
  [
    'airline passengers',
    month,
    240,
    ({ normal, drift }) => {
      const noise = drift(0.7, 0.02)
      return (t) =>
        Math.exp(
          4.8 +
            0.009 * t +
            0.12 * wave(t, 12) +
            0.08 * wave(t, 6, 1) +
            0.04 * wave(t, 4, 2) +
            noise() +
            0.01 * normal(),
        )
    },
  ],
  // A trend that becomes steeper.
  [
    'CO₂ in the air',
    month,
    480,
    ({ normal, drift }) => {
      const noise = drift(0.8, 0.15)
      return (t) =>
        315 + 0.07 * t + 0.00012 * t * t + 2.8 * wave(t, 12) + 0.8 * wave(t, 6, 0.5) + noise() + 0.1 * normal()
    },
  ],
  // A season of the week in one of the year.
  [
    'electricity, daily',
    day,
    1460,
    ({ normal, drift }) => {
      const noise = drift(0.75, 8)
      return (t) =>
        500 + 60 * wave(t, 365.25, 1.2) + 40 * [0.6, 0.8, 0.9, 0.8, 0.5, -1.4, -2.2][t % 7] + noise() + 4 * normal()
    },
  ],
  // A season of the day that differs at weekends.
  [
    'electricity, hourly',
    hour,
    1680,
    ({ normal, drift }) => {
      const noise = drift(0.9, 6)
      return (t) => {
        const isWeekend = Math.floor(t / 24) % 7 >= 5
        const size = isWeekend ? 0.6 : 1
        return (
          300 + size * (70 * wave(t, 24, -2) + 30 * wave(t, 12, 0.3)) - (isWeekend ? 40 : 0) + noise() + 3 * normal()
        )
      }
    },
  ],
  // Short.
  [
    'retail, quarterly',
    quarter,
    160,
    ({ normal, drift }) => {
      const noise = drift(0.6, 3)
      return (t) => 100 + 1.1 * t + [-12, 4, -3, 14][t % 4] * (1 + 0.008 * t) + noise() + 1.5 * normal()
    },
  ],
  // A cycle of unsteady length and height, without a season.
  [
    'sunspots',
    year,
    400,
    ({ normal, uniform }) => {
      let [phase, height] = [0, 90]
      return () => {
        phase += ((2 * Math.PI) / 11) * (1 + 0.1 * normal())
        if (uniform() < 0.09) height = 60 + 90 * uniform()
        return Math.max(0, 5 + height * ((1 - Math.cos(phase)) / 2) ** 1.4 + 4 * normal())
      }
    },
  ],
  [
    'shifts of level',
    month,
    360,
    ({ normal, uniform, drift }) => {
      const noise = drift(0.5, 3)
      let level = 200
      return (t) => {
        if (uniform() < 1 / 60) level += (uniform() < 0.5 ? -1 : 1) * (30 + 40 * uniform())
        return level + 15 * wave(t, 12, 0.4) + 6 * wave(t, 6) + noise() + 2 * normal()
      }
    },
  ],
  [
    'changes of trend',
    month,
    300,
    ({ normal, uniform, drift }) => {
      const noise = drift(0.5, 1.5)
      let [slope, level] = [0.5, 100]
      return (t) => {
        if (t > 0 && t % 70 === 0) slope = -0.8 + 2 * uniform()
        level += slope
        return level + 9 * wave(t, 12, 1) + 3 * wave(t, 4) + noise() + normal()
      }
    },
  ],
  // Spikes that fade, and one shift.
  [
    'visits of a site',
    day,
    900,
    ({ normal, uniform, drift }) => {
      const noise = drift(0.6, 0.06)
      let [level, spike] = [Math.log(1000), 0]
      return (t) => {
        level += 0.004 * normal() + (t === 500 ? 0.35 : 0)
        spike = 0.6 * (uniform() < 0.02 ? 0.2 + 0.5 * uniform() : spike)
        return Math.exp(level + 0.12 * [1, 1.1, 1, 0.8, 0.2, -1.9, -2.2][t % 7] + spike + noise())
      }
    },
  ],
  [
    'temperature',
    month,
    480,
    ({ normal, drift }) => {
      const noise = drift(0.4, 0.9)
      return (t) => 9 + 10 * wave(t, 12, -2) + 0.8 * wave(t, 6) + 0.0015 * t + noise() + 0.4 * normal()
    },
  ],
]

/** Name and CSV text of each series. */
export function forecastSeries(seed) {
  return SERIES.map(([name, date, length, make], index) => {
    const random = new Philox(seed, index)
    const uniform = () => random.uniform()
    const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())
    // Noise with memory: an autoregressive process of order 1.
    const drift = (memory, deviation) => {
      let state = 0
      return () => {
        state = memory * state + deviation * normal()
        return state
      }
    }
    const value = make({ uniform, normal, drift })
    const rows = Array.from({ length }, (_, t) => `${date(t).toISOString().slice(0, 16)},${value(t).toFixed(4)}`)
    return { name, csv: `date,value\n${rows.join('\n')}\n` }
  })
}
