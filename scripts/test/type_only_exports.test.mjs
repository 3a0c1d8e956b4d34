import { expect, it } from 'vitest'
import { markTypeExports } from '../build/type_only_exports.mjs'

it('markTypeExports marks the type-only exports of the source, by the exported name', () => {
  const source = `export { open } from './open.js'
export type { Model } from './model.js'
export { type Stream as ModelStream, Tape } from './stream.js'
`
  const declarations = `import { Model as Base } from './base.js'
declare class Model {}
export { type Base, Model, Stream as ModelStream, Tape, open }
`
  expect(markTypeExports(source, declarations)).toBe(`import { Model as Base } from './base.js'
declare class Model {}
export { type Base, type Model, type Stream as ModelStream, Tape, open }
`)
})

it('markTypeExports marks exports of a shared part, and leaves marked ones as they are', () => {
  const source = `export type { Model, Options } from './model.js'\n`
  const declarations = `export { a as Model, type b as Options } from './part-4f.js'\nexport type { Options as O } from 'other'\n`
  const marked = `export { type a as Model, type b as Options } from './part-4f.js'\nexport type { Options as O } from 'other'\n`
  expect(markTypeExports(source, declarations)).toBe(marked)
  expect(markTypeExports(source, marked)).toBe(marked)
})
