import { join } from 'node:path'

const folder = process.env['CUDNN_RNN_REPORTS']
const results = (path: string): [string, object] => ['json', { outputFile: join(path, `${process.pid}.json`) }]

/** What each run of vitest prints; if `CUDNN_RNN_REPORTS` names a folder, also its results as a file there, as `.ci/run` sums them. */
export const reporters: (string | [string, object])[] = [
  'default',
  './scripts/testing/stuck_tests.mjs',
  './scripts/testing/measured_figures.mjs',
  './scripts/testing/second_tries.mjs',
  ...(folder === undefined ? [] : [results(folder)]),
]
