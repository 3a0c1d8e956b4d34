// Sums vitest's JSON reports into the last line of a CI run: node scripts/sum_tests.mjs REPORT…
import { readFileSync } from 'node:fs'

const totals = { passed: 0, failed: 0, skipped: 0 }
for (const path of process.argv.slice(2)) {
  const report = readReport(path)
  if (report === null) {
    console.error(`${path}: no complete report, counted as one failure`)
    totals.failed++
    continue
  }
  totals.passed += report.numPassedTests
  totals.failed += report.numFailedTests
  // A file that could not be loaded, or whose hook threw, fails without a failed test of its own.
  totals.failed += report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  ).length
  totals.skipped += report.numPendingTests + report.numTodoTests
}
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`)
process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1

/** The report, or null where the run broke before it was written. */
function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}
