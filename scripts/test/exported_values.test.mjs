import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { exportedCallables } from '../checks/exported_values.mjs'

it('exportedCallables finds functions and classes once, and their examples', () => {
  const folder = mkdtempSync(join(tmpdir(), 'exports-'))
  const source = join(folder, 'index.ts')
  writeFileSync(
    join(folder, 'parts.ts'),
    `/**
 * @example
 * \`\`\`ts
 * one()
 * \`\`\`
 */
export function one() {}
export const two = () => 2
export const three = 3
export class Four {}
export interface Five {}
`,
  )
  writeFileSync(source, `export { one, three, two } from './parts.js'\nexport type { Five, Four } from './parts.js'\n`)
  writeFileSync(join(folder, 'all.ts'), `export { one } from './parts.js'\n`)
  const entries = [
    { entry: 'package', source },
    { entry: 'package/all', source: join(folder, 'all.ts') },
  ]
  expect(exportedCallables(entries).map(({ entry, name, hasExample }) => [entry, name, hasExample])).toEqual([
    ['package', 'one', true],
    ['package', 'two', false],
    ['package', 'Four', false],
  ])
})
