import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { declaredValueErrors } from '../checks/declared_values.mjs'

const folder = mkdtempSync(join(tmpdir(), 'declared-'))

/** Writes the files of an entry. Returns their paths. */
function entry(declarations, program, [types, module] = ['index.d.mts', 'index.mjs']) {
  writeFileSync(join(folder, types), declarations)
  writeFileSync(join(folder, module), program)
  return { types: join(folder, types), module: join(folder, module) }
}

it('declaredValueErrors reports a declared class that the module lacks, and an undeclared value', async () => {
  const declarations = 'declare class Model {}\ndeclare class Tape {}\nexport { Model, type Tape }\n'
  expect(await declaredValueErrors(folder, [entry(declarations, 'export const open = 1\n')])).toEqual([
    'index.d.mts declares a value Model; the module has none',
    'index.d.mts lacks the value open of the module',
  ])
})

it('declaredValueErrors follows exports of other declarations, and reads CommonJS by require', async () => {
  writeFileSync(
    join(folder, 'part.d.cts'),
    'declare class Model {}\nexport declare const size: number\nexport type { Model }\n',
  )
  const declarations = `export { Model } from './part.cjs'\nexport * from './part.cjs'\n`
  const paths = ['all.d.cts', 'all.cjs']
  expect(await declaredValueErrors(folder, [entry(declarations, 'exports.size = 2\n', paths)])).toEqual([])
})

it('declaredValueErrors reports a class that prints under the name which a bundler gave it', async () => {
  const made = entry('export declare class Model {}\n', 'export const Model = class _Model {}\n', ['c.d.mts', 'c.mjs'])
  expect(await declaredValueErrors(folder, [made])).toEqual(['c.d.mts has a class Model that prints as _Model'])
})
