// Interrupts saves in every way: node packages/saveable/fuzz/saves.mjs [random kills] [seed]
// Kills before and after every call that changes a file, kills at random moments, and a fault at every such call.
// A loss, or a file that stays without being listed, ends it with an error.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'

const [kills = 200, seed = 1] = process.argv.slice(2).map(Number)
const here = fileURLToPath(new URL('.', import.meta.url))
const folder = await mkdtemp(join(tmpdir(), 'saves-'))
const bundled = async (name, entry) => {
  const outfile = join(folder, `${name}.mjs`)
  await bundleProgram(entry, outfile)
  return outfile
}
try {
  const program = await bundled('saving_program', join(here, 'saving_program.ts'))
  const contents = "export * from './save_faults.js'; export { Random } from '@cudnn-rnn/fuzzing'"
  const faults = await import(pathToFileURL(await bundled('save_faults', { contents, resolveDir: here })).href)
  const { SCENARIOS, CALLS, failEveryCall, killAtEveryCall, killAtRandom } = faults
  const choices = new faults.Random(seed)
  const random = () => choices.below(2 ** 30) / 2 ** 30
  const total = { interrupted: 0, old: 0, new: 0 }
  const report = (what, counts) => {
    console.log(what, counts)
    for (const key of Object.keys(total)) total[key] += counts[key]
  }
  for (const name of Object.keys(SCENARIOS)) {
    for (const call of CALLS) report(`${name}: EIO at every ${call}`, await failEveryCall(name, call))
    for (const kind of ['kill-before', 'kill-after']) {
      report(`${name}: ${kind} every call`, await killAtEveryCall(program, name, kind))
    }
    report(`${name}: kills at random moments`, await killAtRandom(program, name, kills, random))
  }
  console.log(`seed ${seed}: 0 losses`, total)
} finally {
  await rm(folder, { recursive: true, force: true })
}
