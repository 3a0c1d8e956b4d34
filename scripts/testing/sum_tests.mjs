// Sums vitest's JSON reports into the last line of a CI run, behind the tests that failed: node scripts/testing/sum_tests.mjs REPORT…
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** Lines of a failure's message that are printed: the assertion and its first lines of difference. */
const MESSAGE_LINES = 12

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
  totals.skipped += report.numPendingTests + report.numTodoTests
  for (const { name, status, message, assertionResults } of report.testResults) {
    if (status !== 'failed') continue
    const failed = assertionResults.filter((test) => test.status === 'failed')
    for (const { fullName, failureMessages } of failed) printFailure(name, fullName, failureMessages.join('\n'))
    if (failed.length > 0) continue
    // A file that could not be loaded, or whose hook threw, fails without a failed test in it.
    printFailure(name, 'the file', message)
    totals.failed++
  }
}
const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : ''
console.log(`${totals.passed} passed, ${totals.failed} failed${skipped}`)
process.exitCode = totals.failed === 0 && totals.passed > 0 ? 0 : 1

/** The report, or null if the run broke before it was written. */
function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}

function printFailure(file, title, message) {
  const lines = message.trim().split('\n').slice(0, MESSAGE_LINES)
  console.log(`FAILED: ${relative('.', file)}: ${title}\n${lines.map((line) => `    ${line}`).join('\n')}`)
}
