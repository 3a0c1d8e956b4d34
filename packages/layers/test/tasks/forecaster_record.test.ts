import { describe, expect, it } from 'vitest'
import { type ForecasterRecord, isForecasterRecord } from '../../src/tasks/forecaster_record.js'

const ROW = [0.5, -0.25]
const price = { name: 'price', isKnownAhead: true, mean: 1, deviation: 2 }
const visits = { name: 'visits', isKnownAhead: false, mean: 0, deviation: 1 }
const rows = (count: number) => Array.from({ length: count }, () => ROW)
const RECORD: ForecasterRecord = {
  ...{ format: 1, shape: { window: 3, horizon: 2, season: 1 }, calendar: 'none', covariates: [] },
  // Two values of the window beside the last, and the constant.
  members: [{ anchor: 'last', coefficients: rows(3), weight: 1 }],
  ...{ share: 0.5, widths: [1, 2], coverage: 0.8 },
}

describe('isForecasterRecord', () => {
  it.each<[string, Partial<ForecasterRecord>]>([
    ['as saved', {}],
    ['without coefficients', { members: [{ anchor: 'seasonal_naive', weight: 1 }] }],
    ['with a calendar', { calendar: 'year', members: [{ anchor: 'last', coefficients: rows(3 + 4), weight: 1 }] }],
    [
      'with covariates',
      { covariates: [price, visits], members: [{ anchor: 'last', coefficients: rows(3 + 5 + 3), weight: 1 }] },
    ],
    ['with members of weight 0 beside others', { members: [...RECORD.members, { anchor: 'last', weight: 0 }] }],
  ])('accepts a record %s', (_, change) => {
    expect(isForecasterRecord({ ...RECORD, ...change })).toBe(true)
  })

  it.each<[string, object]>([
    ['of another format', { format: 2 }],
    ['with a window of 1', { shape: { window: 1, horizon: 2, season: 1 } }],
    ['with a horizon that the widths do not have', { shape: { window: 3, horizon: 3, season: 1 } }],
    ['with an unknown calendar', { calendar: 'month' }],
    ['with a calendar named like a property of objects', { calendar: 'constructor' }],
    ['with an unknown anchor', { members: [{ anchor: 'first', weight: 1 }] }],
    ['with fewer rows of coefficients', { members: [{ anchor: 'last', coefficients: rows(2), weight: 1 }] }],
    ['with a short row', { members: [{ anchor: 'last', coefficients: [ROW, ROW, [1]], weight: 1 }] }],
    [
      'with a coefficient that is null',
      { members: [{ anchor: 'last', coefficients: [ROW, ROW, [1, null]], weight: 1 }] },
    ],
    ['without a member that counts', { members: [{ anchor: 'last', weight: 0 }] }],
    ['without members', { members: [] }],
    ['with a negative weight', { members: [{ anchor: 'last', weight: -1 }] }],
    ['with a negative width', { widths: [1, -2] }],
    ['with a share that is a text', { share: '0.5' }],
    ['without coverage', { coverage: undefined }],
    ['with a covariate without a deviation', { covariates: [{ ...visits, deviation: undefined }] }],
    [
      'with a covariate of deviation 0',
      { covariates: [{ ...visits, deviation: 0 }], members: [{ anchor: 'last', weight: 1 }] },
    ],
  ])('refuses a record %s', (_, change) => {
    expect(isForecasterRecord({ ...RECORD, ...change })).toBe(false)
  })
})
