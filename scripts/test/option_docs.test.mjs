import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { undocumentedOptions } from '../checks/option_docs.mjs'

it('undocumentedOptions finds the fields without a comment, once for each type', () => {
  const folder = mkdtempSync(join(tmpdir(), 'options-'))
  const types = join(folder, 'index.d.ts')
  const all = join(folder, 'all.d.ts')
  writeFileSync(
    types,
    `declare const TABLE: {
  /** Of the table. */
  one: number
  two: number
}
export interface TableOptions extends Readonly<typeof TABLE> {
  /** Own. */
  readonly three: number
}
export interface Result { readonly four: number }
export declare const LateOptions: { five: number }
`,
  )
  writeFileSync(all, `export { type TableOptions } from './index.js'\n`)
  const entries = [
    { entry: 'package', types },
    { entry: 'package/all', types: all },
  ]
  expect(undocumentedOptions(entries)).toEqual([{ entry: 'package', type: 'TableOptions', field: 'two' }])
})
