// The part of vitest that the conformance suite uses, for machines with Node.js alone: the bundle of the validation
// replaces vitest by this module. Tests run one after another, and each gives one outcome.
import { thrownMessage } from '@cudnn-rnn/canonical/rules'
import { JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect'
import * as chai from 'chai'
import type { CheckContext } from './check.js'
import { isDeviceLost, judged, nameOf, type Report, skipped } from './outcome.js'

chai.use(JestExtend)
chai.use(JestChaiExpect)
chai.use(JestAsymmetricMatchers)

export const expect = chai.expect

type Run = (...args: unknown[]) => unknown
interface Entry {
  readonly name: string
  /** Undefined for a test that is skipped. */
  readonly run: (() => unknown) | undefined
}

const entries: Entry[] = []
const path: string[] = []

export function describe(name: string, register: () => void): void {
  path.push(name)
  register()
  path.pop()
}

/** `test(name, run)` or `test(name, options, run)`. */
function addTest(name: string, ...rest: readonly unknown[]): void {
  addEntry(name, rest.at(-1) as () => unknown)
}

function addEntry(name: string, run: Entry['run']): void {
  entries.push({ name: [...path, name].join(' > '), run })
}

/** `test.skipIf(condition)(name, run)`: the outcome of a skipped test is `skipped`. */
function skipIf(condition: unknown): typeof addTest {
  return condition ? (name) => addEntry(name, undefined) : addTest
}

/**
 * `test.each(rows)(title, run)`: an array is spread over the arguments; the title takes them for %s, %f, %o and $name.
 */
function each(rows: readonly unknown[]) {
  return (title: string, ...rest: readonly unknown[]) => {
    for (const row of rows) {
      const values = Array.isArray(row) ? row : [row]
      let next = 0
      const name = title
        .replaceAll(/%[sfo]/g, () => textOf(values[next++]))
        .replaceAll(/\$(\w+)/g, (_, field: string) => textOf((row as Record<string, unknown>)[field]))
      addTest(name, () => (rest.at(-1) as Run)(...values))
    }
  }
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export const test = Object.assign(addTest, { each, skipIf })
export const it = test

/** Runs the registered tests until the deadline; `report` gets one outcome per test. */
export async function runTests(
  { deadline, once }: Pick<CheckContext, 'deadline' | 'once'>,
  report: Report,
): Promise<void> {
  for (const { name, run } of entries.splice(0)) await once(name, () => runTest(name, run))

  async function runTest(name: string, run: Entry['run']): Promise<void> {
    const id = 'conformance'
    if (run === undefined) return report(skipped(id, name, 'its condition does not hold'))
    if (performance.now() > deadline) {
      return report(skipped(id, name, 'no time was left'))
    }
    let problem: string | undefined
    try {
      await run()
    } catch (error) {
      problem = isDeviceLost(error) ? nameOf(error) : thrownMessage(error)
    }
    report(judged(id, name, 'passes', problem ?? 'passed', problem === undefined))
  }
}
