// Sums vitest's JSON reports into the last line of a CI run: node scripts/sum_tests.mjs REPORT…
import { existsSync, readFileSync } from 'node:fs'

const totals = { passed: 0, failed: 0, skipped: 0 }
for (const path of process.argv.slice(2)) {
  if (!existsSync(path)) continue
  const report = JSON.parse(readFileSync(path, 'utf8'))
  totals.passed += report.numPassedTests
  totals.failed += report.numFailedTests
  // A file that could not be loaded fails without a test of its own.
  totals.failed += report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  ).length
  totals.skipped += report.numPendingTests + report.numTodoTests
}
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`)
process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1
