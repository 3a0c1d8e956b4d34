import { codedRangeError } from '../coded_error.js'
import { ZONE_OFFSET_PATTERN, zoneOffset, zoneOffsetText } from './time_zone.js'

/** Times of a column, all in one form. */
export interface ReadDates {
  /** Clock times as the file has them, in milliseconds as if they were UTC. */
  readonly clocks: readonly number[]
  /** Milliseconds that each clock is ahead of UTC; undefined if the form has no zone. */
  readonly offsets: readonly number[] | undefined
  /** The text of a clock time, in the form of the column. Throws RangeError `ERR_INVALID_OPTION` for one that the form cannot state. */
  write(clock: number, offset: number): string
}

/** One way of writing dates. Each named group is a field; the characters between them are kept when dates are written. */
interface DateForm {
  readonly pattern: RegExp
  /** For forms that are numbers: the names of columns that are dates. Others need `--date`. */
  readonly columns?: RegExp
}

const TIME = String.raw`(?:(?:T|,? +)(?<H>\d{1,2}):(?<M>\d{2})(?::(?<S>\d{2})(?:[.,](?<f>\d{1,9}))?)?(?: ?(?<p>[AP]M))?(?: ?(?<z>${ZONE_OFFSET_PATTERN}))?)?`
const YEAR = String.raw`(?<y>\d{4}|\d{2})`
const DAY_OF_MONTH = String.raw`(?<d>\d{1,2})`
const MONTH = String.raw`(?<m>\d{1,2})`
const MONTH_NAME = '(?<b>[A-Z]{3,9})'

const FORMS: readonly DateForm[] = [
  form(String.raw`(?<y>\d{4})([-/.])${MONTH}\k<sep>${DAY_OF_MONTH}${TIME}`),
  form(String.raw`(?<y>\d{4})[-/.]${MONTH}`),
  form(String.raw`(?<y>\d{4})[- ]?Q(?<q>[1-4])`),
  form(String.raw`Q(?<q>[1-4])[-/ ]?(?<y>\d{4})`),
  form(String.raw`${DAY_OF_MONTH}\.${MONTH}\.${YEAR}${TIME}`),
  // These orders are in use: a column that fits several is decided by its steps, or refused.
  form(String.raw`(?<y>\d{2})([-/.])${MONTH}\k<sep>${DAY_OF_MONTH}${TIME}`),
  form(String.raw`${MONTH}([-/])${DAY_OF_MONTH}\k<sep>${YEAR}${TIME}`),
  form(String.raw`${DAY_OF_MONTH}([-/])${MONTH}\k<sep>${YEAR}${TIME}`),
  form(`${DAY_OF_MONTH}[-/ ]${MONTH_NAME}[-/ ]${YEAR}${TIME}`),
  form(String.raw`${MONTH_NAME} ${DAY_OF_MONTH},? (?<y>\d{4})${TIME}`),
  form(String.raw`${MONTH_NAME}[-/ ](?<y>\d{4})`),
  form(`(?<y>\\d{4})[-/ ]${MONTH_NAME}`),
  form(String.raw`${MONTH}[-/.](?<y>\d{4})`),
  form(String.raw`(?<y>\d{4})`, /year|date/i),
  form(String.raw`(?<y>\d{4})(?<m>\d{2})`, /date|month|period/i),
  form(String.raw`(?<y>\d{4})(?<m>\d{2})(?<d>\d{2})`, /date|day/i),
  form(String.raw`(?<u>\d{9,10})(?:\.(?<f>\d{1,9}))?`, /date|time|epoch|unix|^ts$/i),
  form(String.raw`(?<n>\d{12,13})`, /date|time|epoch|unix|^ts$/i),
]

function form(pattern: string, columns?: RegExp): DateForm {
  return {
    pattern: new RegExp(`^${pattern.replace('([-/', '(?<sep>[-/')}$`, 'di'),
    ...(columns !== undefined && { columns }),
  }
}

/** Whether a column is one of dates, as far as one of its texts shows. Numbers are dates only in columns of such a name. */
export function isDate(column: string, text: string): boolean {
  return FORMS.some(({ pattern, columns }) => columns?.test(column) !== false && fieldsOf(pattern, text) !== undefined)
}

/** The column read in each form that fits all of its texts; the index of the first text that fits no form if there is none. */
export function readDates(texts: readonly string[]): readonly ReadDates[] | number {
  let furthest = 0
  const read = FORMS.flatMap(({ pattern }) => {
    const fields: Fields[] = []
    const first = firstOfLastCentury(pattern, texts)
    for (const text of texts) {
      const own = fieldsOf(pattern, text, first)
      if (own === undefined) break
      fields.push(own)
    }
    furthest = Math.max(furthest, fields.length)
    return fields.length < texts.length ? [] : [datesOf(pattern, texts, fields)]
  })
  return read.length > 0 ? read : furthest
}

/** POSIX: 69 to 99 are of the last century. */
const OF_LAST_CENTURY = 69

/**
 * The two digits from which years are of the last century, so that a column, which is without large gaps, is of years that follow
 * each other: 65 to 78 are of one century. The last year is of the century that POSIX gives it.
 */
function firstOfLastCentury(pattern: RegExp, texts: readonly string[]): number {
  const all = new Set<number>()
  for (const text of texts) {
    const year = pattern.exec(text.trim())?.groups?.['y'] ?? ''
    if (year.length !== 2) return OF_LAST_CENTURY
    all.add(Number(year))
  }
  const years = [...all].sort((a, b) => a - b)
  const gaps = years.map((year, n) => (n === 0 ? year + 100 : year) - (years.at(n - 1) ?? 0))
  const begin = gaps.indexOf(Math.max(...gaps))
  const last = years.at(begin - 1) ?? 0
  if (begin > 0) return years[begin] ?? OF_LAST_CENTURY
  return last < OF_LAST_CENTURY ? 100 : 0
}

interface Fields {
  readonly clock: number
  readonly groups: Readonly<Record<string, string | undefined>>
}

const MONTHS = [
  ...['january', 'february', 'march', 'april', 'may', 'june'],
  ...['july', 'august', 'september', 'october', 'november', 'december'],
]

/** Undefined for a text of another form, and for one such as 2020-02-31. */
function fieldsOf(pattern: RegExp, text: string, ofLastCentury = OF_LAST_CENTURY): Fields | undefined {
  const { groups } = pattern.exec(text.trim()) ?? {}
  if (groups === undefined) return undefined
  const { y = '', m, q, b, d = '1', H = '0', M = '0', S = '0', f = '', p, u, n, z } = groups
  // A date has milliseconds; further digits are cut off.
  const milliseconds = Number(f.slice(0, 3).padEnd(3, '0'))
  if (n !== undefined) return { clock: Number(n), groups }
  if (u !== undefined) return { clock: Number(u) * 1000 + milliseconds, groups }
  const short = b === undefined ? -1 : MONTHS.findIndex((name) => name.slice(0, 3) === b.toLowerCase().slice(0, 3))
  if (b !== undefined && (short < 0 || !MONTHS[short].startsWith(b.toLowerCase()))) return undefined
  const year = Number(y) + (y.length === 2 ? (Number(y) < ofLastCentury ? 2000 : 1900) : 0)
  const month = b === undefined ? (q === undefined ? Number(m ?? 1) - 1 : 3 * (Number(q) - 1)) : short
  const hour = p === undefined ? Number(H) : (Number(H) % 12) + (p.toUpperCase() === 'PM' ? 12 : 0)
  const clock = Date.UTC(year, month, Number(d), hour, Number(M), Number(S), milliseconds)
  const date = new Date(clock)
  // 2020-02-31 would be in March, 13:75 at 14:15, and the year 50 would be 1950.
  const read = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes()]
  const isSame = [year, month, Number(d), hour, Number(M)].every((part, index) => part === read[index])
  const isHour = p === undefined || (Number(H) >= 1 && Number(H) <= 12)
  const isZone = z === undefined || zoneOffset(z) !== undefined
  return isSame && isHour && isZone && Number(S) === date.getUTCSeconds() ? { clock, groups } : undefined
}

function datesOf(pattern: RegExp, texts: readonly string[], fields: readonly Fields[]): ReadDates {
  const hasZone = fields.some(({ groups }) => groups['z'] !== undefined)
  const counts = fields.map(({ groups }) => Object.values(groups).filter((group) => group !== undefined).length)
  // The fullest text is the model of those that are written: some files leave out the time at midnight.
  const model = texts[counts.lastIndexOf(counts.reduce((most, count) => Math.max(most, count), 0))].trim()
  // If days do not show the form, months do: the month of 10/1/2020 has no leading zero.
  const isShort = (names: readonly string[]) => {
    const own = fields.flatMap(({ groups }) => names.map((name) => groups[name] ?? ''))
    return own.some((text) => text.length === 1) && !own.some((text) => text.startsWith('0'))
  }
  const short = [['d', 'm'], ['H']].filter(isShort).flat()
  return {
    clocks: fields.map(({ clock }) => clock),
    offsets: hasZone ? fields.map(({ groups }) => zoneOffset(groups['z'] ?? 'Z') ?? 0) : undefined,
    write: (clock, offset) => rewritten(pattern, model, short, clock, offset),
  }
}

/** The model with other fields; those in `short` have no leading zero. */
function rewritten(pattern: RegExp, model: string, short: readonly string[], clock: number, offset: number): string {
  const { indices, groups = {} } = pattern.exec(model) ?? {}
  const spans = Object.entries(indices?.groups ?? {}).filter(([name, span]) => name !== 'sep' && span !== undefined)
  const fields = fieldTexts(groups, short, clock, offset)
  let text = model
  for (const [name, [begin, end]] of spans.sort(([, a], [, b]) => b[0] - a[0])) {
    text = text.slice(0, begin) + fields[name] + text.slice(end)
  }
  // A year of five digits, a number of seconds of eleven.
  if (pattern.test(text)) return text
  const message = `Cannot write ${JSON.stringify(text)} as it must have the form of the dates of the file, such as ${JSON.stringify(model)}: forecast fewer steps, by --horizon`
  throw codedRangeError('ERR_INVALID_OPTION', message, { option: 'horizon' })
}

/** The fields of a clock time by the names of their groups, as wide and in such letters as the model's. */
function fieldTexts(
  model: Fields['groups'],
  short: readonly string[],
  clock: number,
  offset: number,
): Readonly<Record<string, string>> {
  const date = new Date(clock)
  const { y = '', b = '', f = '', p, z = '' } = model
  const number = (name: string, value: number) => String(value).padStart(short.includes(name) ? 1 : 2, '0')
  const letters = (model: string, text: string) => (model === model.toUpperCase() ? text.toUpperCase() : text)
  const [month, hour] = [date.getUTCMonth(), date.getUTCHours()]
  const name = MONTHS[month].slice(0, b.length === 3 ? 3 : undefined)
  return {
    y: String(date.getUTCFullYear())
      .padStart(4, '0')
      .slice(y.length === 2 ? -2 : 0),
    m: number('m', month + 1),
    q: String(Math.floor(month / 3) + 1),
    b: letters(b, b === b.toLowerCase() ? name : name[0].toUpperCase() + name.slice(1)),
    d: number('d', date.getUTCDate()),
    H: number('H', p === undefined ? hour : hour % 12 || 12),
    M: number('M', date.getUTCMinutes()),
    S: number('S', date.getUTCSeconds()),
    f: String(date.getUTCMilliseconds()).padStart(3, '0').padEnd(f.length, '0').slice(0, f.length),
    p: letters(p ?? '', hour < 12 ? 'am' : 'pm'),
    z: zoneOffsetText(z, offset),
    u: String(Math.floor(clock / 1000)),
    n: String(clock),
  }
}
