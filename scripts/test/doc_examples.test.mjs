import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { docExamples } from '../doc_examples.mjs'

it('docExamples finds blocks of Markdown and of docstrings, with their lines and flags', () => {
  const root = mkdtempSync(join(tmpdir(), 'docs-'))
  writeFileSync(
    join(root, 'a.md'),
    '# A\n\n```ts\nconst a = 1\n```\n\n```sh\nls\n```\n\n```ts no-run\nconst b = 2\n```\n',
  )
  writeFileSync(
    join(root, 'b.ts'),
    'const x = 1\n/**\n * Text.\n * @example\n * ```ts\n * const c = 3\n * ```\n */\nexport { x }\n',
  )
  expect(docExamples(root, ['a.md', 'b.ts'])).toEqual([
    { file: 'a.md', line: 3, code: 'const a = 1\n', runs: true },
    { file: 'a.md', line: 11, code: 'const b = 2\n', runs: false },
    { file: 'b.ts', line: 5, code: 'const c = 3\n', runs: true },
  ])
})
