import { type RunnerTask, type RunnerTestCase, type RunnerTestSuite, TestRunner } from 'vitest'

const REASON = 'the addon of cpu is not built'

/** That the executor `cpu` did not open as it has no addon, in an error or in the output of a program that a test compares. */
const ABSENCE = /Cannot open backend \\*"cpu\\*" as .*?\(cpu: (its addon is not installed|not in this bundle)/

/** The first error decides: hooks may fail after it. An addon that does not load is a failure. */
const lacksAddon = ({ result }: RunnerTask): boolean => {
  const { message, actual } = result?.errors?.[0] ?? {}
  return ABSENCE.test(`${message} ${actual}`)
}

/**
 * Skips the tests that open the executor `cpu`, and those whose file or hook does, where no C++ compiler has built its addon: any
 * test may open it, and none has to ask. `vitest.config.ts` chooses this runner there.
 */
export default class AddonlessRunner extends TestRunner {
  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    skipWithoutAddon(suite)
    await super.onBeforeRunSuite(suite)
  }

  onAfterRetryTask(test: RunnerTestCase): void {
    if (lacksAddon(test)) Object.assign(test.result ?? {}, { pending: true, note: REASON })
  }

  override async onAfterRunSuite(suite: RunnerTestSuite): Promise<void> {
    skipWithoutAddon(suite)
    await super.onAfterRunSuite(suite)
  }
}

function skipWithoutAddon(suite: RunnerTestSuite): void {
  if (!lacksAddon(suite)) return
  suite.mode = 'skip'
  suite.result = { state: 'skip', note: REASON }
}
