import { expect, it } from 'vitest'
import {
  clockOfOffsets,
  clockShowing,
  fixedClock,
  momentOf,
  zoneOffset,
  zoneOffsetText,
} from '../../src/forecast/time_zone.js'

const HOUR = 3_600_000
const at = (text: string) => Date.parse(`${text}Z`)

it.each([
  ['Z', 0],
  ['UTC', 0],
  ['+02:00', 2 * HOUR],
  ['-0330', -3.5 * HOUR],
  ['+05', 5 * HOUR],
])('zoneOffset and zoneOffsetText of %s', (text, offset) => {
  expect(zoneOffset(text)).toBe(offset)
  expect(zoneOffsetText(text, offset)).toBe(text)
})

it.each(['+15:00', '+02:60'])('%s is not an offset', (text) => {
  expect(zoneOffset(text)).toBeUndefined()
})

it('clockOfOffsets finds a place with these offsets, and keeps the last one if there is none', () => {
  const clocks = ['2020-03-28T12:00', '2020-03-29T12:00', '2020-07-01T12:00'].map(at)
  const summer = clockOfOffsets(clocks, [HOUR, 2 * HOUR, 2 * HOUR])
  expect([at('2020-12-24T12:00'), at('2021-07-01T12:00')].map(summer.offsetAt)).toEqual([HOUR, 2 * HOUR])
  const nowhere = clockOfOffsets(clocks, [HOUR, 7 * HOUR, 3 * HOUR])
  expect(nowhere.offsetAt(at('2020-12-24T12:00'))).toBe(3 * HOUR)
  expect(clockOfOffsets(clocks, [HOUR, HOUR, HOUR]).offsetAt(at('2020-08-01T12:00'))).toBe(HOUR)
})

it('clockShowing finds a place whose clocks show an hour twice, and none for other repetitions', () => {
  const night = ['01:00', '02:00', '02:00', '03:00'].map((time) => at(`2020-10-25T${time}`))
  const zone = clockShowing(night)
  expect(zone?.offsetAt(at('2020-07-01T12:00'))).toBe(2 * HOUR)
  expect(clockShowing(night.map((clock) => clock + 24 * HOUR))).toBeUndefined()
  expect(clockShowing([...night].sort((a, b) => b - a))).toBeUndefined()
  expect(clockShowing([night[0] as number, night[3] as number])).toBeUndefined()
})

it('momentOf takes the later of two hours where one is before, and the offset before an hour that is skipped', () => {
  const zone = clockOfOffsets(['2020-03-28T12:00', '2020-03-29T12:00'].map(at), [HOUR, 2 * HOUR])
  const twice = at('2020-10-25T02:30')
  expect(momentOf(twice, zone)).toBe(at('2020-10-25T00:30'))
  expect(momentOf(twice, zone, at('2020-10-25T00:30'))).toBe(at('2020-10-25T01:30'))
  expect(momentOf(at('2020-03-29T02:30'), zone)).toBe(at('2020-03-29T00:30'))
  expect(momentOf(twice, fixedClock(HOUR))).toBe(at('2020-10-25T01:30'))
})
