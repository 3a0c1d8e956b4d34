// Figures that tests measure, such as counts of files and peaks of memory, and the table of them at the end of a run.
import { relative } from 'node:path'
import { TestRunner } from 'vitest'

const COMBINE = { sum: (a, b) => a + b, most: Math.max }

/**
 * Adds figures of the test that runs to the table at the end of the run.
 *
 * @param figures Values by their names; values of one name in one file are combined
 * @param combine `sum`, or `most` for the greatest
 */
export function measured(figures, combine = 'sum') {
  const { meta } = TestRunner.getCurrentTest()
  meta.figures = [...(meta.figures ?? []), { figures, combine }]
}

/**
 * Lines of a table: the figures of each file, below its name.
 *
 * @param tests Files of tests, each with the metadata that the test has after its run
 */
export function figureLines(tests) {
  const files = new Map()
  for (const { file, meta } of tests) {
    for (const { figures, combine } of meta?.figures ?? []) {
      const rows = files.get(file) ?? new Map()
      files.set(file, rows)
      for (const [name, value] of Object.entries(figures)) {
        rows.set(name, rows.has(name) ? COMBINE[combine](rows.get(name), value) : value)
      }
    }
  }
  return [...files].flatMap(([file, rows]) => [
    `Measured by ${relative('.', file)}`,
    ...[...rows].map(([name, value]) => `${String(+value.toPrecision(4)).padStart(10)}  ${name}`),
  ])
}

/** A reporter of vitest that prints the table. */
export default class MeasuredFigures {
  onTestRunEnd(modules) {
    const tests = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({ file: module.moduleId, meta: test.meta() })),
    )
    for (const line of figureLines(tests)) console.log(line)
  }
}
