import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { markdownTable, numberIn } from './markdown_table.mjs'

/** Instruction sets of the cpu executor as charts name them. */
const SET_TITLES = {
  'avx512-vnni': 'AVX-512',
  avx512: 'AVX-512 without VNNI',
  'avx2-vnni': 'AVX2 with VNNI',
  avx2: 'AVX2',
  'neon-i8mm-bf16': 'NEON',
  'neon-dotprod': 'NEON without I8MM and BF16',
  neon: 'NEON without dot products',
  portable: 'portable C++',
}

/** The title of an instruction set; throws for one without a title. */
export function setTitle(set) {
  if (!Object.hasOwn(SET_TITLES, set)) {
    throw new Error(`Add a title of the instruction set ${set} to apps/site/bench/stored_results.mjs`)
  }
  return SET_TITLES[set]
}

/** docs/bench/results/streams.json */
export function streamsResult(root) {
  return JSON.parse(readFileSync(join(root, 'docs/bench/results/streams.json'), 'utf8'))
}

/** The summary of docs/bench/space.md: `{ kind, set, ratio }` for each kind of network and instruction set. */
export function geometricMeans(space) {
  const { header, rows } = markdownTable(space, 'Summary')
  const column = header.indexOf('geometric mean')
  return rows.map((cells) => ({ kind: cells[0], set: setTitle(cells[1]), ratio: numberIn(cells[column]) }))
}
