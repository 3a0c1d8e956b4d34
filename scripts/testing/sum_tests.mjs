// Sums a run of .ci/run into its last line, below the tests that failed, and the tests and checks that passed at the second try:
// node scripts/testing/sum_tests.mjs REPORTS. Each check has a folder of REPORTS, with the JSON of each of its runs of vitest.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Lines of a failure's message that are printed: the assertion and its first lines of difference. */
const MESSAGE_LINES = 12

const [reports] = process.argv.slice(2)
const totals = { passed: 0, failed: 0, skipped: 0 }
const checks = join(reports, 'second_tries')
const secondTries = existsSync(checks) ? readFileSync(checks, 'utf8').match(/.+/g) : []
for (const path of readdirSync(reports, { recursive: true }).filter((name) => name.endsWith('.json'))) {
  const report = readReport(join(reports, path))
  if (report === null) {
    console.error(`${path}: no complete report, counted as one failure`)
    totals.failed++
    continue
  }
  totals.passed += report.numPassedTests
  totals.failed += report.numFailedTests
  totals.skipped += report.numPendingTests + report.numTodoTests
  for (const { name, status, message, assertionResults } of report.testResults) {
    // A test that passes keeps the failure of its first try.
    const flaky = assertionResults.filter((test) => test.status === 'passed' && test.failureMessages.length > 0)
    for (const { fullName, failureMessages } of flaky)
      secondTries.push(`${relative('.', name)}: ${fullName}: ${failureMessages[0].split('\n')[0]}`)
    if (status !== 'failed') continue
    const failed = assertionResults.filter((test) => test.status === 'failed')
    for (const { fullName, failureMessages } of failed) printFailure(name, fullName, failureMessages.join('\n'))
    if (failed.length > 0) continue
    // A file that could not be loaded, or whose hook threw, fails without a failed test in it.
    printFailure(name, 'the file', message)
    totals.failed++
  }
}
for (const each of secondTries) console.log(`Passed at the second try: ${each}`)
const others = { skipped: totals.skipped, 'at the second try': secondTries.length }
const counts = Object.entries(others).flatMap(([name, count]) => (count > 0 ? `, ${count} ${name}` : []))
console.log(`${totals.passed} passed, ${totals.failed} failed${counts.join('')}`)
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
