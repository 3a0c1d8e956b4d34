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

/** A parsed text that is taken for a type without a check. Its comments aside, as they are indented by an asterisk. */
const UNCHECKED_JSON = /^(?! \*).*JSON\.parse\(.*\) as /m

/** They check the fields afterwards, return the value to the caller, or read the output of a process of this repository. */
const CHECKED_LATER =
  /^packages\/train\/src\/(?:logs\/metrics_file|data\/line_sources|loop\/gather_results)\.ts$|^apps\/bench\//

/** A device of a path never ends, a FIFO never begins. */
const READ_WITHOUT_A_LOOK = /\breadFile(?:Sync)?\(/

/** Libraries have other openers; the apps among these read files of this repository or of a data package. */
const OWN_FILES =
  /^packages\/|^apps\/(?:bench|site)\/|^apps\/cli\/src\/(?:classify\/spam_messages|character\/text_corpus)\.ts$/

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
  ['casts a parsed text; use jsonObject and rules', UNCHECKED_JSON, CHECKED_LATER],
  ['reads the path of a user without a look at its kind; use readRegularFile', READ_WITHOUT_A_LOOK, OWN_FILES],
])('no source file %s', (_, pattern, known = /^$/) => {
  expect(sources.length).toBeGreaterThan(100)
  const found = sources.filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')))
  expect(found.filter((file) => !known.test(file))).toEqual([])
})
