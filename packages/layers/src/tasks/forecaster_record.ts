import {
  FINITE,
  FLAG,
  fields,
  integerFrom,
  keyOf,
  listOf,
  oneOf,
  optional,
  POSITIVE,
  TEXT,
  where,
} from '@cudnn-rnn/canonical/rules'
import { CALENDAR_SIZES, type Calendar } from './calendar.js'
import type { BlendMember } from './linear_blend.js'
import type { Covariate } from './prepared_series.js'
import { ANCHORS, WindowEncoder } from './window_encoder.js'

export const FORECASTER_FORMAT = 1

/** The saved part of a forecaster beside its network. */
export interface ForecasterRecord {
  readonly format: typeof FORECASTER_FORMAT
  readonly shape: { readonly window: number; readonly horizon: number; readonly season: number }
  readonly calendar: Calendar
  readonly covariates: readonly Covariate[]
  readonly members: readonly BlendMember[]
  /** Share of the network's correction that is added, 0..1. */
  readonly share: number
  /** Half the width of the interval at each step ahead, relative to the deviation of the window. */
  readonly widths: readonly number[]
  readonly coverage: number
}

const COUNT = integerFrom(1)
const WEIGHT = where(FINITE, 'at least 0', (value: number) => value >= 0)
const RECORD = fields({
  format: where(integerFrom(1), String(FORECASTER_FORMAT), (value: number) => value === FORECASTER_FORMAT),
  shape: fields({ window: integerFrom(2), horizon: COUNT, season: COUNT }),
  calendar: keyOf(CALENDAR_SIZES),
  covariates: listOf(fields({ name: TEXT, isKnownAhead: FLAG, mean: FINITE, deviation: POSITIVE })),
  members: listOf(
    fields({ anchor: oneOf([...ANCHORS]), coefficients: optional(listOf(listOf(FINITE))), weight: WEIGHT }),
  ),
  share: WEIGHT,
  widths: listOf(WEIGHT),
  coverage: FINITE,
})

/** Whether a value is a whole record whose sizes agree. */
export function isForecasterRecord(value: object): value is ForecasterRecord {
  if (RECORD.find(value, 'record') !== undefined) return false
  const { shape, members, widths } = value as ForecasterRecord
  const inputs = linearInputCount(value as ForecasterRecord)
  return (
    widths.length === shape.horizon &&
    members.some(({ weight }) => weight > 0) &&
    members.every(
      ({ coefficients }) =>
        coefficients === undefined ||
        (coefficients.length === inputs && coefficients.every((row) => row.length === shape.horizon)),
    )
  )
}

/** The number of {@link WindowEncoder.linearInputs}. */
function linearInputCount({ shape, calendar, covariates }: ForecasterRecord): number {
  const numbers = covariates.map(({ isKnownAhead }) => shape.window + (isKnownAhead ? shape.horizon : 0))
  return shape.window - 1 + numbers.reduce((sum, each) => sum + each, 0) + CALENDAR_SIZES[calendar] + 1
}
