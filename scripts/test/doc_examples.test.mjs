import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { docExamples, unprinted } from '../checks/doc_examples.mjs'

it('docExamples finds blocks of Markdown and of docstrings, with their lines and flags', () => {
  const root = mkdtempSync(join(tmpdir(), 'docs-'))
  writeFileSync(
    join(root, 'a.md'),
    '# A\n\n```ts\nconsole.log(1) // 1\n```\n\n```sh\nls\n```\n\n```ts no-run\nconst b = 2\n```\n',
  )
  writeFileSync(
    join(root, 'b.ts'),
    'const x = 1\n/**\n * Text.\n * @example\n * ```ts\n * console.log(3) // 3\n * console.log([4])\n * // [4]\n * ```\n */\nexport { x }\n',
  )
  expect(docExamples(root, ['a.md', 'b.ts'])).toEqual([
    { file: 'a.md', line: 3, code: 'console.log(1) // 1\n', runs: true, prints: ['1'] },
    { file: 'a.md', line: 11, code: 'const b = 2\n', runs: false, prints: [] },
    {
      file: 'b.ts',
      line: 5,
      code: 'console.log(3) // 3\nconsole.log([4])\n// [4]\n',
      runs: true,
      prints: ['3', '[4]'],
    },
  ])
})

it('unprinted returns the first comment that the output does not answer in its order', () => {
  expect(unprinted(['[1, 2] 3', '4: the sum of 1 and 3'], ['Float32Array(2) [ 1, 2 ] 3', 'more', '4'])).toBeUndefined()
  expect(unprinted(['1', '2'], ['2', '1'])).toBe('2')
  expect(unprinted(['12'], ['1'])).toBe('12')
  expect(unprinted(['1'], [])).toBe('1')
})
