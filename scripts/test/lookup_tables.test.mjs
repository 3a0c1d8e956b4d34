import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { filesBelow } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A constant that any text may index and that is an object literal: `constructor` finds a function in it. */
const TABLE_BY_ANY_TEXT =
  /\bconst \w+: (?:Readonly<)?(?:Partial<)?(?:Readonly<)?Record<string,[^=]*>+ = (?:Object\.freeze\()?\{\s*\S*\w+:/

/** An array of any length as the arguments of a call: a few hundred thousand end in a RangeError. */
const SPREAD_INTO_PUSH = /\.push\(\.\.\.(?:new TextEncoder|\w+\.(?:slice|subarray|encode))\(/

/** Test machinery, and the table of letters by which this project itself describes native calls. */
const KNOWN =
  /^(?:packages\/(?:conformance|differential)|apps\/gpu_validation)\/|^packages\/cudnn\/src\/gathered_call\.ts$/

const sources = ['packages', 'apps']
  .flatMap((folder) => filesBelow(root, join(root, folder), /\.ts$/))
  .filter((file) => {
    return file.includes('/src/') && !KNOWN.test(file)
  })

it.each([
  ['is a lookup table with a prototype; use a Map', TABLE_BY_ANY_TEXT],
  ['spreads an array of any length into a call', SPREAD_INTO_PUSH],
])('no source file %s', (_, pattern) => {
  expect(sources.length).toBeGreaterThan(100)
  expect(sources.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
})
