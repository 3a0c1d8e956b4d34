import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { filesBelow } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const sources = ['packages', 'apps'].flatMap((folder) =>
  filesBelow(root, join(root, folder), /\.tsx?$/).filter((file) => /\/src\//.test(file)),
)

it.each([
  [
    'renames files: Windows refuses while another program has the file open',
    /\brename(Sync)?\b.*from 'node:fs/,
    'packages/checkpoint/src/files/replace_file.ts',
  ],
  [
    'words any thrown value: a caller may throw an object without a text, or an error with a getter that throws',
    /\bError(\)| \?) (return )?(String\()?\w+\.message|[^.]\bString\(error\)/,
    'packages/canonical/src/rules/described_value.ts',
  ],
  ['colors text: a file and a pipe have none on any platform', /from 'picocolors'/, 'apps/cli/src/colors.ts'],
])('one module %s', (_, pattern, module) => {
  expect(sources.length).toBeGreaterThan(900)
  expect(sources.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')))).toEqual([module])
})
