import { describe, expect, it } from 'vitest'
import { LINEAR_PART } from '../../src/forecast/backtest.js'
import { forecastAdvice } from '../../src/forecast/forecast_advice.js'

interface Situation {
  readonly units?: number
  readonly window?: number
  readonly season?: number
  /** The step whose calibration error was the least, of 600. */
  readonly best?: number
  /** Mean absolute errors of the network, the seasonal and the linear baseline. */
  readonly errors?: readonly number[]
}

function advice({ units = 32, window = 36, season = 12, best = 300, errors = [3, 1, 2] }: Situation) {
  const shape = { season, window, horizon: 12, heldOut: 72 }
  const settings = { shape, sizes: { numUnits: units, numLayers: 1 }, steps: 600, learningRate: 0.003 }
  const names = ['LSTM', 'seasonal naïve', 'linear', LINEAR_PART]
  const backtests = errors.map((error, k) => ({ name: names[k], forecasts: [[error]], actuals: [[0]] }))
  return forecastAdvice(
    { settings, training: { trainingWindows: 90 } } as never,
    { backtests, training: { step: 600, best: { value: 1, step: best, evaluationsSince: 0 } } } as never,
  )
}

/** The option of each change that is recommended. */
const options = (situation: Situation) => advice(situation)?.tries.map((text) => /^--[\w-]+ [\d.]+/.exec(text)?.[0])

describe('forecastAdvice', () => {
  it('is silent where the network is the best, or no error is known', () => {
    expect(advice({ errors: [1, 2, 3] })).toBeUndefined()
    expect(advice({ errors: [1, 1, 1] })).toBeUndefined()
    expect(advice({ errors: [Number.NaN, Number.NaN, Number.NaN] })).toBeUndefined()
  })

  it('names the best baseline', () => {
    expect(advice({ errors: [3, 1, 2] })?.instead).toBe('seasonal naïve')
    expect(advice({ errors: [3, 2, 1] })?.instead).toBe('linear')
    // The part of the forecaster itself cannot be used instead of it.
    expect(advice({ errors: [3, 4, 4, 1] })).toBeUndefined()
  })

  it('recommends more steps where the error was still falling', () => {
    expect(options({ best: 590 })).toEqual(['--steps 1800', '--units 64'])
  })

  it('recommends smaller steps and fewer units where the best step was an early one', () => {
    expect(options({ best: 100 })).toEqual(['--learning-rate 0.001', '--units 16'])
  })

  it('recommends whole units that the command line takes', () => {
    expect(options({ best: 100, units: 25 })).toEqual(['--learning-rate 0.001', '--units 12'])
    expect(options({ best: 100, units: 9 })).toEqual(['--learning-rate 0.001', '--units 8'])
    expect(options({ best: 100, units: 8 })).toEqual(['--learning-rate 0.001', '--units 16'])
  })

  it('recommends a window of two seasons', () => {
    expect(options({ window: 20 })).toEqual(['--window 24', '--units 64'])
    expect(options({ window: 24 })).toEqual(['--units 64'])
  })

  it('mentions the season if none is known', () => {
    expect(advice({ season: 1 })?.tries.at(-1)).toMatch(/^--season <n>/)
  })
})
