// The last step of a package's build: `dist/*.d.ts` and `dist/*.d.cts` say of the same exports as `src/*.ts` that they are
// types. Runs in the package's folder.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { markTypeExports } from './type_only_exports.mjs'
import { sourceOf } from '../workspace.mjs'

for (const name of readdirSync('dist')) {
  const entry = /^(.*)\.d\.c?ts$/.exec(name)?.[1]
  // Parts that several entries share have no source of their name.
  const source = entry && sourceOf('.', `./${entry}`)
  if (!source) continue
  const path = join('dist', name)
  const before = readFileSync(path, 'utf8')
  const after = markTypeExports(readFileSync(source, 'utf8'), before)
  if (after !== before) writeFileSync(path, after)
}
