import { relative } from 'node:path'

/**
 * A reporter of vitest that names the tests which failed and passed at their second try, as `.ci/run` allows on machines that
 * are shared. A test that appears here twice has to be repaired, or its subject.
 */
export default class SecondTries {
  onTestRunEnd(modules) {
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        if (test.diagnostic()?.flaky) {
          const [first] = test.result().errors ?? []
          console.log(
            `Passed at the second try: ${relative('.', module.moduleId)}: ${test.fullName}: ${first?.message}`,
          )
        }
      }
    }
  }
}
