// The kernels as WebAssembly, and the machine code that V8 makes of them, as assembly that hot_loops.mjs reads.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { functionsOf, run } from './hot_loops.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The files of a folder and those below it, as the nested object that the compiler takes. */
function treeOf(path) {
  const entries = readdirSync(path, { withFileTypes: true })
  return Object.fromEntries(
    entries.map((entry) => {
      const inside = join(path, entry.name)
      return [entry.name, entry.isDirectory() ? treeOf(inside) : readFileSync(inside, 'utf8')]
    }),
  )
}

const CODE_LINE = /^0x[0-9a-f]+\s+([0-9a-f]+)\s+([0-9a-f]+)\s+(.*)$/
const BRANCH = /^(j[a-z]+) .*<\+0x([0-9a-f]+)>$/

/** Functions of V8's listing of --print-wasm-code: name → [{ offset, bytes, text }]. */
export function listedFunctions(listing) {
  const functions = new Map()
  let name
  let instructions
  for (const line of listing.split('\n')) {
    name = /^name: (.*)$/.exec(line)?.[1] ?? name
    if (line.startsWith('Instructions (size')) {
      instructions = []
      functions.set(name, instructions)
    }
    // Tables of positions and safepoints follow.
    if (line === '') instructions = undefined
    const [, offset, bytes, text] = CODE_LINE.exec(line) ?? []
    if (offset !== undefined) instructions?.push({ offset: Number.parseInt(offset, 16), bytes, text: text.trim() })
  }
  return functions
}

/** Assembly of a listed function, in the syntax of the compilers: LLVM disassembles the bytes, as V8 prints another syntax. */
function assemblyOf(mc, instructions) {
  const input = instructions.map(({ bytes }) => bytes.replaceAll(/../g, '0x$& ')).join('\n')
  const lines = run(mc, ['--disassemble', '--triple=x86_64', '--mattr=+avx,+avx2,+fma'], input)
    .split('\n')
    .map((line) => line.trim())
    // A prefix of the instruction that follows has a separate line.
    .filter((line) => line !== '' && !line.startsWith('.') && line !== 'lock')
  if (lines.length !== instructions.length) throw new Error(`Cannot disassemble ${instructions.length} instructions`)
  const branches = instructions.map(({ text }) => BRANCH.exec(text))
  const targets = new Set(branches.flatMap((branch) => (branch ? [Number.parseInt(branch[2], 16)] : [])))
  return instructions.flatMap(({ offset }, k) => {
    const line = branches[k] ? `${branches[k][1]} .L${branches[k][2]}` : lines[k].replace(/\s*#.*$/, '')
    return targets.has(offset) ? [`.L${offset.toString(16)}:`, `\t${line}`] : [`\t${line}`]
  })
}

/** The functions of a module as V8 of the Node.js `node` compiles them, optimized: name → lines of assembly. */
function optimizedFunctions(node, mc, module) {
  const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-v8-'))
  try {
    const file = join(folder, 'hot_loops.wasm')
    writeFileSync(file, module)
    const flags = ['--no-liftoff', '--no-wasm-lazy-compilation', '--print-wasm-code']
    const program = `new WebAssembly.Module(require('node:fs').readFileSync(${JSON.stringify(file)}))`
    const functions = [...listedFunctions(run(node, [...flags, '-e', program]))]
    return new Map(functions.map(([name, instructions]) => [name, assemblyOf(mc, instructions)]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Rows, vectors and operands of a tile, from its name in the assembly or in V8's listing, which demangles names. */
const shapeOfTile = (name) =>
  (
    /ProductTile<.*?, (\d+), (\d+), \(.*?Operands\)(\d),/.exec(name) ??
    /ProductTile.*?Li(\d+)ELi(\d+)EL[^E]*OperandsE(\d)/.exec(name)
  )
    ?.slice(1)
    .join()

/**
 * The functions of native/cpu/test/hot_loops.cc. For `products`, the assembly that clang makes, whose calls name the
 * tiles; for the tiles and for `rows`, the machine code.
 */
export async function wasmFunctions({ node, mc, flags, products, rows }) {
  const { compileUnit, link } = await import('../../native/wasm/compiler.mjs')
  const tree = {
    cpu: treeOf(join(root, 'native/cpu/src')),
    std: treeOf(join(root, 'native/wasm/std')),
    src: treeOf(join(root, 'native/wasm/src')),
    'hot_loops.cc': readFileSync(join(root, 'native/cpu/test/hot_loops.cc'), 'utf8'),
  }
  const allFlags = [...flags, '-w', '-DHOT_LOOPS_VECTORS="kernels/vector_wasm.h"']
  const assembly = functionsOf(await compileUnit('hot_loops.cc', ['-S', ...allFlags], tree))
  const exports = [...products, ...rows].map((name) => `-Wl,--export=${name}`)
  const optimized = optimizedFunctions(
    node,
    mc,
    await link([await compileUnit('hot_loops.cc', allFlags, tree)], exports),
  )
  const functions = new Map(rows.map((name) => [name, optimized.get(name)]))
  for (const name of products) functions.set(name, assembly.get(name))
  for (const symbol of assembly.keys()) {
    const shape = shapeOfTile(symbol)
    if (shape === undefined) continue
    const [, lines] = [...optimized].find(([name]) => shapeOfTile(name) === shape)
    functions.set(symbol, lines)
  }
  return functions
}
