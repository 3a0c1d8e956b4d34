// The exports of 'vitest' that tests import, made of vitest's runner, assertions and mocks, without its processes:
// bundle_tests.mjs puts this module in the place of vitest. An export that is missing throws when a test calls it.
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  customMatchers,
  GLOBAL_EXPECT,
  getState,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from '@vitest/expect'
import { withGlobal } from '@sinonjs/fake-timers'
import { getCurrentTest } from '@vitest/runner'
import { clearAllMocks, fn, isMockFunction, resetAllMocks, restoreAllMocks, spyOn } from '@vitest/spy'
import * as chai from 'chai'

export {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  it,
  onTestFailed,
  onTestFinished,
  suite,
  test,
} from '@vitest/runner'

// Whole values in messages, as vitest prints them.
chai.config.truncateThreshold = 0
for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin)

const missing = (name) => () => {
  throw new Error(`${name} is not in the portable runner`)
}

export const NEW_STATE = {
  assertionCalls: 0,
  isExpectingAssertions: false,
  expectedAssertionsNumber: null,
  expectedAssertionsNumberErrorGen: null,
}

export function expect(value, message) {
  setState({ assertionCalls: getState(expect).assertionCalls + 1 }, expect)
  return chai.expect(value, message)
}
Object.assign(expect, chai.expect, globalThis[ASYMMETRIC_MATCHERS_OBJECT], {
  getState: () => getState(expect),
  setState: (state) => setState(state, expect),
  extend: (matchers) => chai.expect.extend(expect, matchers),
  soft: expect,
  poll: (read, options) =>
    new Proxy(expect, {
      get: (_, matcher) => (value) => mocks.waitFor(async () => expect(await read())[matcher](value), options),
    }),
  unreachable(message = 'unreachable') {
    throw new Error(message)
  },
  fail: chai.expect.fail,
  assertions: missing('expect.assertions'),
  hasAssertions: missing('expect.hasAssertions'),
})
setState({ ...NEW_STATE }, expect)
globalThis[GLOBAL_EXPECT] = expect
expect.extend(customMatchers)
for (const name of ['toMatchSnapshot', 'toMatchInlineSnapshot', 'toMatchFileSnapshot'])
  expect.extend({ [name]: missing(name) })

const environment = new Map()
const globals = new Map()

function setVariable(name, value) {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}

const timers = withGlobal(globalThis)
const FAKED = Object.keys(timers.timers).filter((name) => !['nextTick', 'queueMicrotask'].includes(name))
let clock
const ofClock = (...names) => Object.fromEntries(names.map(([name, own]) => [name, (...given) => clock[own](...given)]))

const mocks = {
  useFakeTimers({ toFake = FAKED, now = Date.now() } = {}) {
    clock?.uninstall()
    clock = timers.install({ toFake, now, ignoreMissingTimers: true })
  },
  useRealTimers() {
    clock?.uninstall()
    clock = undefined
  },
  ...ofClock(['setSystemTime', 'setSystemTime'], ['getTimerCount', 'countTimers'], ['runAllTimers', 'runAll']),
  ...ofClock(['advanceTimersByTime', 'tick'], ['advanceTimersByTimeAsync', 'tickAsync']),
  fn,
  spyOn,
  isMockFunction,
  restoreAllMocks,
  clearAllMocks,
  resetAllMocks,
  mocked: (value) => value,
  stubEnv(name, value) {
    if (!environment.has(name)) environment.set(name, process.env[name])
    setVariable(name, value)
  },
  unstubAllEnvs() {
    for (const [name, value] of environment) setVariable(name, value)
    environment.clear()
  },
  stubGlobal(name, value) {
    if (!globals.has(name)) globals.set(name, Object.getOwnPropertyDescriptor(globalThis, name))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: true })
  },
  unstubAllGlobals() {
    for (const [name, descriptor] of globals) {
      if (descriptor === undefined) delete globalThis[name]
      else Object.defineProperty(globalThis, name, descriptor)
    }
    globals.clear()
  },
  async waitFor(check, { timeout = 1000, interval = 50 } = {}) {
    for (const end = Date.now() + timeout; ; ) {
      try {
        return await check()
      } catch (error) {
        if (Date.now() > end) throw error
        await new Promise((resolve) => setTimeout(resolve, interval))
      }
    }
  },
}
export const vi = new Proxy(mocks, { get: (all, name) => all[name] ?? missing(`vi.${String(name)}`) })
export const TestRunner = { getCurrentTest }
/** Types were checked before. */
export const expectTypeOf = new Proxy(() => expectTypeOf, { get: () => expectTypeOf })
