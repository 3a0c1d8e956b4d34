import { forecastErrors, LINEAR_PART } from './backtest.js'
import type { ForecastResult, ForecastRun } from './forecast_run.js'

/** A best step this late means that training ended before it had converged. */
const LATE = 0.9
/** A best step this early means that the network began to memorize. */
const EARLY = 0.35

/** If a baseline beats the network: the baseline to use, and changes to try; otherwise undefined. */
export function forecastAdvice(
  { settings, training: { trainingWindows } }: Pick<ForecastRun, 'settings' | 'training'>,
  { backtests, training }: Pick<ForecastResult, 'backtests' | 'training'>,
): { readonly instead: string; readonly tries: readonly string[] } | undefined {
  const choices = backtests.filter(({ name }) => name !== LINEAR_PART)
  const errors = choices.map((one) => forecastErrors(one).mae)
  const best = errors.indexOf(Math.min(...errors))
  // Without a held-out value every error is NaN.
  if (best <= 0) return undefined
  const { shape, sizes, steps, learningRate } = settings
  const tries: string[] = []
  const share = (training.best?.step ?? training.step) / steps
  if (share >= LATE) tries.push(`--steps ${3 * steps}: the calibration error was still falling at the last steps`)
  if (share <= EARLY)
    tries.push(
      `--learning-rate ${Number((learningRate / 3).toPrecision(2))}: the best step was an early one, ${training.best?.step}`,
    )
  if (shape.window < 2 * shape.season) {
    tries.push(
      `--window ${2 * shape.season}: the network reads ${shape.window} steps, less than two seasons of ${shape.season}`,
    )
  }
  if (share <= EARLY && sizes.numUnits > 8) {
    tries.push(
      `--units ${Math.max(8, Math.floor(sizes.numUnits / 2))}: ${trainingWindows} windows are few for ${sizes.numUnits} units`,
    )
  } else tries.push(`--units ${2 * sizes.numUnits}, or --layers ${sizes.numLayers + 1} --dropout 0.2`)
  if (shape.season === 1) tries.push('--season <n>, where the series repeats after n steps')
  return { instead: choices[best].name, tries }
}
