// Finds the inner loops of the kernels in assembly, and computes their speed on a core by llvm-mca.
import { spawnSync } from 'node:child_process'

export function run(command, args, input) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { input, encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`)
  return stdout
}

/** The functions of an assembly file: name → lines. */
export function functionsOf(assembly) {
  const functions = new Map()
  let lines
  for (const line of assembly.split('\n')) {
    const name = /^([A-Za-z_][\w.$]*):/.exec(line)?.[1]
    if (name !== undefined) {
      lines = []
      functions.set(name, lines)
    } else lines?.push(line)
  }
  return functions
}

// Instructions of AVX-VNNI have a prefix. An instruction of words multiplies and adds several times in each lane.
const MULTIPLY_ADD = /^(?:\{vex\}\s+)?(vfmadd\d+ps|fmla|vpdpbusd|vdpbf16ps|sdot|smmla|bfdot|bfmmla)\b/
const JUMP = /^(?:j[a-z]+|b(?:\.?[a-z]{2})?|cbn?z|tbn?z)\s+(?:[^.]*,\s*)?(\.L[\w$]+)$/
const instructionOf = (line) => line.replace(/\s*\/\/.*$/, '').trim()

/** The innermost loop of a function with the most multiply-adds among its instructions; undefined if there is none. */
export function hotLoop(lines) {
  const labels = new Map()
  const loops = []
  lines.forEach((line, index) => {
    const label = /^(\.L[\w$]+):/.exec(line)?.[1]
    if (label !== undefined) labels.set(label, index)
    const target = JUMP.exec(instructionOf(line))?.[1]
    if (target !== undefined && labels.has(target)) loops.push([labels.get(target), index])
  })
  let best
  for (const [first, last] of loops) {
    if (loops.some(([a, b]) => (a !== first || b !== last) && a >= first && b <= last)) continue
    const body = lines.slice(first + 1, last + 1).map(instructionOf)
    const instructions = body.filter((line) => line !== '' && !line.startsWith('.'))
    const multiplyAdds = instructions.filter((line) => MULTIPLY_ADD.test(line)).length
    const density = multiplyAdds / instructions.length
    if (multiplyAdds > 0 && (best === undefined || density > best.density))
      best = { instructions, multiplyAdds, density }
  }
  return best
}

/** Accesses to the stack: registers that did not suffice. V8 addresses it from %rbp. */
export const spillsOf = ({ instructions }) => instructions.filter((line) => /\(%r[sb]p|\[sp\b/.test(line)).length

/** Bytes that the loop loads from weights and rows; prefetches load nothing. */
export function loadedBytes({ instructions }) {
  const widths = { ymm: 32, zmm: 64, xmm: 16, q: 16, s: 4, d: 8 }
  let bytes = 0
  for (const line of instructions) {
    if (/^(prefetch|prfm|lea|cmp|add|sub)/.test(line)) continue
    if (/^vp?broadcast(ss|d)\s+[^,%]*\(/.test(line) || /\{1to\d+\}/.test(line)) bytes += 4
    else if (/^v\w+\s+[^%]*\(%?[^)]*\),/.test(line))
      bytes += widths[/%([xyz]mm)/.exec(line.slice(line.indexOf(')')))[1]]
    else if (/^ldp\s+q/.test(line)) bytes += 32
    else if (/^ldr\s+([qsd])/.test(line)) bytes += widths[line.slice(4).trim()[0]]
  }
  return bytes
}

/** Cycles of one pass of `instructions` on a core, by llvm-mca, with caches of zero latency. */
export function cyclesOf(mca, triple, core, instructions) {
  const iterations = 200
  const args = [
    `-mtriple=${triple}`,
    `-mcpu=${core}`,
    // The models of 64-bit ARM's cores lack features that processors with them have.
    ...(triple === 'aarch64' ? ['-mattr=+dotprod,+i8mm,+bf16'] : []),
    `-iterations=${iterations}`,
    '-instruction-info=0',
    '-resource-pressure=0',
  ]
  // A jump to a label that is not there is not assembled; its target does not matter.
  const text = instructions.map((line) => line.replace(/\.L[\w$]+$/, 'loop')).join('\n')
  const report = run(mca, args, `loop:\n${text}\n`)
  return Number(/Total Cycles:\s+(\d+)/.exec(report)[1]) / iterations
}
