// Predicts with llvm-mca how near the products of 16 rows come to the multiply-add peak of processors that are not available here,
// and how fast the products of one row read their weights:
//   node scripts/checks/check_hot_loops.mjs [--write docs/bench/hot_loops.md]
// Fails if an inner loop spills registers, is predicted below 90 % of the peak or, for one row, below LEAST_BYTES, or if one of
// two or three rows loads a weight more than once. Skips targets
// without a compiler. The loops of WebAssembly are read from the machine code that Node.js 24's V8 makes of them.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RELAXED_KERNEL_FLAGS } from '../../native/wasm/compile_flags.mjs'
import { cyclesOf, functionsOf, hotLoop, loadedBytes, run, spillsOf } from './hot_loops.mjs'
import { hasNodeReleases, nodeRelease } from '../build/npm_package.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { wasmFunctions } from './wasm_hot_loops.mjs'

ownTemporaryFolder()

const root = fileURLToPath(new URL('../..', import.meta.url))
const finds = (command) => spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0
const LEAST_SHARE = 0.9
/** Bytes of weights that a product of one row reads in a cycle: the second-level cache of Zen 4 delivers 32, and less in practice. */
const LEAST_BYTES = 24
/** Below which share of the peak a core fails, where that is not LEAST_SHARE, and why. */
const EXCEPTIONS = {
  znver2: { least: 0.87, reason: 'the model takes in four instructions a cycle, the processor six operations' },
  znver4: {
    least: 0.77,
    reason:
      'the model books a broadcast from memory on a unit that multiplies; on the processor the same loops reach 97 %',
  },
  'wasm znver2': {
    least: 0.7,
    reason: 'V8 computes an address in a separate instruction, of four that the model takes in',
  },
  'wasm alderlake': { least: 0.5, reason: 'the model books the computation of an address on a unit that multiplies' },
}
const exceptionOf = (set, core) => EXCEPTIONS[`${set.name} ${core}`] ?? EXCEPTIONS[core]

/** The flags of a kernel file, from the build itself. */
const cmake = readFileSync(join(root, 'native/cpu/CMakeLists.txt'), 'utf8')
const flagsOf = (pattern) => pattern.exec(cmake)[1].trim().split(/\s+/)

const x86 = { compilers: ['g++', 'x86_64-linux-gnu-g++'], triple: 'x86_64', define: 'CUDNN_RNN_X86' }
const SETS = [
  {
    ...x86,
    name: 'avx2',
    lanes: 8,
    flags: flagsOf(/set\(avx2 (-m[^$)]*)/),
    cores: ['znver2', 'znver3', 'skylake', 'alderlake'],
    independent: 12,
    multiplyAdd: (k) => `vfmadd231ps %ymm14, %ymm15, %ymm${k}`,
  },
  {
    ...x86,
    name: 'avx512',
    lanes: 16,
    flags: flagsOf(/set\(avx512 (-m[^$)]*)/),
    cores: ['znver4', 'sapphirerapids'],
    independent: 12,
    multiplyAdd: (k) => `vfmadd231ps %zmm14, %zmm15, %zmm${k}`,
  },
  {
    name: 'neon',
    lanes: 4,
    compilers: ['aarch64-linux-gnu-g++'],
    triple: 'aarch64',
    define: 'CUDNN_RNN_NEON',
    flags: flagsOf(/set\(neon (-f[^)]*)\)/),
    cores: ['neoverse-n1', 'neoverse-v1', 'apple-m1'],
    independent: 24,
    multiplyAdd: (k) => `fmla v${k}.4s, v30.4s, v31.s[0]`,
  },
  {
    name: 'wasm',
    lanes: 4,
    engine: '24.21.0',
    triple: 'x86_64',
    cores: ['znver2', 'znver3', 'skylake', 'alderlake'],
    independent: 12,
    multiplyAdd: (k) => `vfmadd231ps %xmm14, %xmm15, %xmm${k}`,
    // A load brings 16 bytes, and each of up to four chunks has a pointer, which takes an addition.
    leastBytes: 17,
  },
]
const wasm = SETS.find(({ name }) => name === 'wasm')
const PRODUCTS = { FourChunks: 'LSTM, RNN relu, RNN tanh', ThreeChunks: 'GRU', PackedRows: 'gradient of the weights' }

/** Products of few rows, by the rows that each loaded weight must serve. In WebAssembly the rows are copied. */
const FEW_ROWS = { TwoRows: 2, ThreeRows: 3 }

const ONE_ROW = {
  RowStepOfLstm: 'single step, LSTM',
  RowOfLstm: 'step of a pass, LSTM',
  RowOfGru: 'step of a pass, GRU',
}

/** The functions of a source of native/cpu, compiled. */
function compiledFunctions(set, compiler, folder, source = 'test/hot_loops.cc', flags = []) {
  const file = join(folder, `${set.name}.s`)
  const defines = [`-D${set.define}=1`, `-DHOT_LOOPS_VECTORS="kernels/vector_${set.name}.h"`]
  const common = ['-std=c++20', '-O3', '-fPIC', '-ffp-contract=off', '-fvisibility=hidden', '-w']
  const include = `-I${join(root, 'native/cpu/src')}`
  const from = join(root, 'native/cpu', source)
  run(compiler, [...common, ...set.flags, ...flags, ...defines, include, '-S', from, '-o', file])
  return functionsOf(readFileSync(file, 'utf8'))
}

/**
 * Sources whose products multiply bytes or halves, by set: below src/kernels, with their flags beyond their set's, and cores that have
 * their instructions and that no benchmark runs on. All of their loops are checked.
 */
const DOTS = {
  avx2: [{ source: 'int8_dots_avx_vnni.cc', flag: '-mavxvnni', cores: [] }],
  avx512: [
    { source: 'int8_dots_avx512.cc', flag: '-mavx512vnni', cores: [] },
    { source: 'bfloat16_dots_avx512.cc', flag: '-mavx512bf16', cores: [] },
  ],
  neon: [
    {
      ...{ source: 'int8_dots_neon.cc', flag: '-march=armv8.2-a+dotprod' },
      cores: ['neoverse-n1', 'neoverse-v1', 'apple-m1'],
    },
    ...['int8_matrices_neon.cc', 'bfloat16_matrices_neon.cc'].map((source) => ({
      ...{ source, flag: '-march=armv8.2-a+dotprod+i8mm+bf16' },
      cores: ['neoverse-n2', 'neoverse-v1', 'apple-m2'],
    })),
  ],
}
/** Multiply-adds of an instruction in each 32 bits of its sums. */
const IN_LANE = { sdot: 4, smmla: 8, bfdot: 2, bfmmla: 4 }

/** The products of a source in {@link DOTS} that access the stack, in words, and a row on its tallest tile. */
function dotsOf(set, folder, { source, flag, cores }, float32Peak) {
  const compiler = set.compilers.find(finds)
  const compiled = [compiledFunctions(set, compiler, folder, `src/kernels/${source}`, [flag])]
  // The addons for macOS, musl and Windows on arm64 are clang's, which orders instructions otherwise.
  if (set.name === 'neon' && finds('clang++-19')) {
    const library = dirname(run(compiler, ['-print-libgcc-file-name']))
    const target = [`--target=${set.triple}-linux-gnu`, `--gcc-install-dir=${library}`]
    compiled.push(compiledFunctions(set, 'clang++-19', folder, `src/kernels/${source}`, [flag, ...target]))
  }
  const tiles = compiled
    .flatMap((functions) => [...functions])
    .flatMap(([name, lines]) => {
      const [, height, width] = /MultiplyILi(\d+)ELi(\d+)E|$/.exec(name)
      const loop = hotLoop(lines)
      return loop === undefined ? [] : [{ name, loop, height: Number(height), width: Number(width) }]
    })
  // Up to six rows over up to four chunks, at least.
  if (tiles.length < 4) return { failures: [`${source}: ${tiles.length} loops were found`] }
  const failures = tiles
    .filter(({ loop }) => spillsOf(loop) > 0)
    .map(({ name, loop }) => `${name} of ${source}: ${spillsOf(loop)} accesses to the stack in the inner loop`)
  if (cores.length === 0) return { failures }
  const { loop, height, width } = tiles.reduce((a, b) => (b.height * 100 + b.width > a.height * 100 + a.width ? b : a))
  const multiplyAdds = sum(loop.instructions.map((line) => IN_LANE[line.split(/\s/)[0]] ?? 0))
  const rates = cores.map((core) => {
    const rate = multiplyAdds / cyclesOf(mca, set.triple, core, loop.instructions)
    return `${core} ${(rate / float32Peak(core)).toFixed(1)}`
  })
  const bytes = loadedBytes(loop) / (multiplyAdds * set.lanes)
  return { failures, row: [set.name, `\`${source}\``, `${height} × ${width}`, bytes.toFixed(2), rates.join(', ')] }
}

/** The same of WebAssembly, or undefined where there is no engine to compile it for. */
async function wasmFunctionsOf(set) {
  const mc = mca.replace('llvm-mca', 'llvm-mc')
  if (!hasNodeReleases || !finds(mc)) return undefined
  const node = nodeRelease(set.engine)
  const [products, rows] = [Object.keys(PRODUCTS), Object.keys(ONE_ROW)]
  return wasmFunctions({ node, mc, flags: RELAXED_KERNEL_FLAGS, products, rows })
}

/** The functions of a set; undefined, with a printed line, where they cannot be compiled. */
async function functionsOfSet(set, folder) {
  const compiler = set.compilers?.find(finds)
  const isOther = set.compilers !== undefined && set.triple === 'x86_64' && process.arch !== 'x64'
  const compiled =
    set.compilers === undefined
      ? await wasmFunctionsOf(set)
      : compiler && !isOther && compiledFunctions(set, compiler, folder)
  if (compiled) return compiled
  const missing = set.compilers?.join(' or ') ?? `Node.js ${set.engine} or llvm-mc`
  console.log(`hot loops: ${set.name} skipped, as ${missing} was not found`)
  return undefined
}

/** The tiles of each of the named products with their hot loops. */
function productsOf(set, functions, names) {
  return names.map((name) => {
    const calls = functions
      .get(name)
      .flatMap((line) => /\b(?:call|jmp|bl|b)\s+(_Z\w*ProductTile[\w.]*)/.exec(line)?.[1] ?? [])
    if (calls.length === 0) throw new Error(`Cannot find the tiles of ${name} on ${set.name}`)
    return { name, tiles: calls.map((symbol) => ({ symbol, loop: hotLoop(functions.get(symbol)) })) }
  })
}

/** The products of one row with their hot loops. The compiler may leave the kernel apart and jump to it. */
function rowsOf(functions) {
  return Object.keys(ONE_ROW).map((name) => {
    const calls = functions
      .get(name)
      .flatMap((line) => /\b(?:call|jmp|bl|b)\s+(_Z\w*Row(?:StepOf|Recurrence)[\w.]*)/.exec(line)?.[1] ?? [])
    const loop = hotLoop(functions.get(calls[0] ?? name))
    if (loop === undefined) throw new Error(`Cannot find the loop of ${name}`)
    return { name, loop }
  })
}

/** "6 × 2" of a tile's mangled name: rows × vectors. */
const shapeOf = (symbol) => /Li(\d+)ELi(\d+)EL\w*OperandsE/.exec(symbol).slice(1).join(' × ')
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0)

// Versions before 17 do not have all of the cores.
const mca = [...Array.from({ length: 6 }, (_, k) => `llvm-mca-${22 - k}`), 'llvm-mca'].find(
  (name) => finds(name) && Number(/LLVM version (\d+)/.exec(run(name, ['--version']))[1]) >= 17,
)
if (mca === undefined) {
  console.log('hot loops: skipped, as llvm-mca was not found (Debian: llvm-19)')
  process.exit()
}
const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-loops-'))
const rows = []
const singleRows = []
const dots = []
const failures = []
try {
  for (const set of SETS) {
    const functions = await functionsOfSet(set, folder)
    if (functions === undefined) continue
    const independent = Array.from({ length: set.independent }, (_, k) => set.multiplyAdd(k))
    const peakOf = (core) => set.independent / cyclesOf(mca, set.triple, core, independent)
    for (const each of DOTS[set.name] ?? []) {
      const { failures: found, row } = dotsOf(set, folder, each, peakOf)
      failures.push(...found)
      if (row !== undefined) dots.push(row)
    }
    const peaks = new Map(set.cores.map((core) => [core, peakOf(core)]))
    const predicted = new Map()
    for (const { name, loop } of rowsOf(functions)) {
      const spills = spillsOf(loop)
      if (spills > 0)
        failures.push(`${ONE_ROW[name]} on ${set.name}: ${spills} accesses to the stack in the inner loop`)
      const rates = set.cores.map((core) => {
        const weights = 4 * loop.multiplyAdds * set.lanes
        const rate = weights / cyclesOf(mca, set.triple, core, loop.instructions)
        if (rate < (set.leastBytes ?? LEAST_BYTES))
          failures.push(`${ONE_ROW[name]} on ${core}: ${rate.toFixed(0)} bytes a cycle`)
        return `${core} ${rate.toFixed(0)}`
      })
      const bytes = loadedBytes(loop) / (loop.multiplyAdds * set.lanes)
      singleRows.push([set.name, ONE_ROW[name], bytes.toFixed(2), String(spills), rates.join(', ')])
    }
    for (const { name, tiles } of set === wasm ? [] : productsOf(set, functions, Object.keys(FEW_ROWS))) {
      const [{ loop }] = tiles
      const bytes = loadedBytes(loop) / (loop.multiplyAdds * set.lanes)
      // Beside the elements of the rows.
      if (bytes > (1.25 * 4) / FEW_ROWS[name] || spillsOf(loop) > 0)
        failures.push(`${name} on ${set.name}: ${bytes.toFixed(2)} bytes per multiply-add, ${spillsOf(loop)} spills`)
    }
    for (const { name, tiles } of productsOf(set, functions, Object.keys(PRODUCTS))) {
      const multiplyAdds = sum(tiles.map(({ loop }) => loop.multiplyAdds))
      const spills = sum(tiles.map(({ loop }) => spillsOf(loop)))
      const bytes = sum(tiles.map(({ loop }) => loadedBytes(loop))) / (multiplyAdds * set.lanes)
      if (spills > 0) failures.push(`${PRODUCTS[name]} on ${set.name}: ${spills} accesses to the stack in inner loops`)
      const shares = set.cores.map((core) => {
        const cycles = tiles.map(({ symbol, loop }) => {
          const key = `${symbol} ${core}`
          if (!predicted.has(key)) predicted.set(key, cyclesOf(mca, set.triple, core, loop.instructions))
          return predicted.get(key)
        })
        const share = multiplyAdds / sum(cycles) / peaks.get(core)
        if (share < (exceptionOf(set, core)?.least ?? LEAST_SHARE))
          failures.push(`${PRODUCTS[name]} on ${core}: ${(100 * share).toFixed(0)} % of the peak`)
        return `${core} ${(100 * share).toFixed(0)} %`
      })
      const shapes = [...new Set(tiles.map(({ symbol }) => shapeOf(symbol)))].join(', ')
      rows.push([set.name, PRODUCTS[name], shapes, bytes.toFixed(2), String(spills), shares.join(', ')])
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}

const tableOf = (header, lines) =>
  [header, header.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
const common = ['bytes per multiply-add', 'spills']
const table = tableOf(
  ['instruction set', 'product', 'tiles, rows × vectors', ...common, 'share of the multiply-add peak'],
  rows,
)
const singleRowTable = tableOf(['instruction set', 'product', ...common, 'bytes of weights a cycle'], singleRows)
const dotsTable = tableOf(
  [
    'instruction set',
    'product',
    'tile, rows × vectors',
    'bytes per multiply-add',
    "multiply-adds, times float32's peak",
  ],
  dots,
)
const [, , option, target] = process.argv
if (option === '--write') {
  writeFileSync(
    join(root, target),
    `# The inner loops of the products

Written by \`node scripts/checks/check_hot_loops.mjs --write ${target}\`, from the assembly of \`native/cpu/test/hot_loops.cc\`: the tiles of a
product of 16 rows, as ${run(mca, ['--version'])
      .match(/LLVM version [\d.]+/)[0]
      .replace(
        'LLVM version',
        'llvm-mca of LLVM',
      )} predicts them for each core. It assumes that every load is answered by the first-level
cache. The loops of WebAssembly are those that V8 of Node.js ${wasm.engine} makes of the module with relaxed SIMD. The peak is that of independent multiply-adds on the same core. CI fails below 90 %, and where a loop touches the stack.
Let pass: ${Object.entries(EXCEPTIONS)
      .map(([core, { least, reason }]) => `${core} from ${100 * least} % on, as ${reason}`)
      .join('; ')}.

${table}

## One row

A product of one row loads each weight once, so its loop has to load faster than the caches deliver: the second-level cache of Zen 4
delivers at most 32 bytes a cycle. CI fails below ${LEAST_BYTES}, of WebAssembly, whose loads bring 16 bytes each, below ${wasm.leastBytes}, and
where a loop touches the stack.

${singleRowTable}

## Bytes and halves

The tallest tile of each product of int8 or bfloat16. No such processor was at hand: these are the model's numbers alone, and its Apple
cores are one older core. CI fails where any of their loops touches the stack.

${dotsTable}
`,
  )
}
console.log(table)
console.log(singleRowTable)
console.log(dotsTable)
for (const failure of failures) console.error(`hot loops: ${failure}`)
if (failures.length > 0) process.exitCode = 1
