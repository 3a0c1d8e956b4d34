// Random descriptor and pass calls through the host validation of the real cuDNN and through the emulator:
// native/cuda_emulator/real_libraries/differential.cc makes the calls, this compares the statuses.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('../../../native/cuda_emulator/', import.meta.url))

/**
 * Calls that the emulator refuses and cuDNN 9.24 accepts, or refuses for another of several reasons. A call that the emulator
 * accepts and the library refuses is a defect of the emulator and gets no entry.
 */
export const KNOWN_DIFFERENCES = [
  {
    name: 'rows of length 0',
    reason:
      'The library accepts them; its kernels have been reported to fail on them. The executor passes length 1 instead.',
    fits: ({ real, emulated, facts }) => real === 0 && emulated === 3000 && facts.has('empty'),
  },
  {
    name: 'skip_input with I ≠ H in a backward',
    reason: 'The library refuses the forward only. The emulator refuses the backward as well: no forward precedes it.',
    fits: ({ call, real, emulated, facts }) =>
      call.startsWith('Backward') && real === 0 && emulated === 2000 && facts.get('skip') === '0',
  },
  {
    name: 'an unknown clip mode',
    reason: 'The library stores any number; the enumeration has two values.',
    fits: ({ call, real, emulated, facts }) =>
      call === 'SetClip' && real === 0 && emulated === 2000 && !['0', '1'].includes(facts.get('clipMode')),
  },
  {
    name: 'several arguments are wrong',
    reason: 'Both refuse; the order of their checks differs.',
    fits: ({ real, emulated }) => real !== 0 && emulated !== 0,
  },
]

/** Runs `count` cases of `seed` through both libraries. Throws if a program ends early. */
export function compareWithRealCudnn({ cudnn, emulator, seed, count, build }) {
  const program = join(build, 'differential')
  const file = join(source, 'real_libraries/differential.cc')
  run('c++', ['-std=c++20', '-O1', '-I', source, file, '-o', program, '-ldl', '-pthread'])
  const linesOf = (kind, folder) => {
    const lines = run(program, [kind, folder, String(seed), '0', String(count)])
      .trim()
      .split('\n')
    if (lines.length !== count) throw new Error(`${kind}: ${lines.length} of ${count} cases`)
    return lines
  }
  const [real, emulated] = [linesOf('real', cudnn), linesOf('emulator', emulator)]
  const known = new Map(KNOWN_DIFFERENCES.map(({ name }) => [name, 0]))
  const faults = []
  const calls = { compared: 0, accepted: 0, passes: 0 }
  for (const [k, line] of real.entries()) {
    const words = line.split(' ')
    const facts = new Map(words.filter((word) => word.includes(':')).map((word) => word.split(':')))
    const others = new Map(emulated[k].split(' ').map((word) => word.split(/[=:]/)))
    for (const [call, text] of words.filter((word) => word.includes('=')).map((word) => word.split('='))) {
      // A call that only one of them came to follows a difference that was counted.
      if (!others.has(call)) continue
      const difference = { call, real: Number(text), emulated: Number(others.get(call)), facts }
      calls.compared++
      if (difference.real === 0) calls.accepted++
      if (/^(Forward|Backward)/.test(call)) calls.passes++
      if (difference.real === difference.emulated) continue
      const entry = KNOWN_DIFFERENCES.find(({ fits }) => fits(difference))
      if (entry === undefined) faults.push({ line, emulated: emulated[k], call })
      else known.set(entry.name, known.get(entry.name) + 1)
    }
    // Sizes and positions of weights, if both return them.
    for (const name of ['bytes', 'matrix', 'bias']) {
      if (facts.has(name) && others.has(name) && facts.get(name) !== others.get(name)) {
        faults.push({ line, emulated: emulated[k], call: name })
      }
    }
  }
  return { cases: count, seed, calls, known: Object.fromEntries(known), faults }
}

function run(command, args) {
  const { status, stdout, stderr, signal } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 256 * 2 ** 20 })
  if (status !== 0) throw new Error(`${command} ${args.slice(0, 3).join(' ')}: ${signal ?? status}\n${stderr}`)
  return stdout
}
