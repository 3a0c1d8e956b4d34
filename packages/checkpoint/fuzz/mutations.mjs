// Damages TensorFlow's checkpoints and reads them: node packages/checkpoint/fuzz/mutations.mjs [mutations] [seed]
// Prints the outcomes; anything but a coded error or a sound checkpoint ends it with seed and number of the mutation.
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const [mutations = 100_000, seed = 1] = process.argv.slice(2).map(Number)
const here = fileURLToPath(new URL('.', import.meta.url))
const folder = await mkdtemp(join(here, '.build-'))
try {
  const outfile = join(folder, 'fuzz_mutations.mjs')
  await build({
    entryPoints: [join(here, 'fuzz_mutations.ts')],
    outfile,
    bundle: true,
    packages: 'external',
    alias: { '@cudnn-rnn/fuzzing': join(here, '../../fuzzing/src/index.ts') },
    format: 'esm',
    platform: 'node',
    define: { 'import.meta.url': JSON.stringify(import.meta.url) },
  })
  const { SUBJECTS, loadSubject, fuzzMutations } = await import(pathToFileURL(outfile).href)
  let done = 0
  for (const [index, name] of SUBJECTS.entries()) {
    const share = Math.floor(((index + 1) * mutations) / SUBJECTS.length) - done
    const began = performance.now()
    const counts = await fuzzMutations(await loadSubject(name), share, seed)
    done += share
    console.log(name, { ...counts, seconds: Math.round((performance.now() - began) / 100) / 10 })
  }
  const { maxRSS } = process.resourceUsage()
  console.log(`${done} mutations, seed ${seed}: none crashed, hung or read wrong; peak memory ${maxRSS >> 10} MiB`)
} finally {
  await rm(folder, { recursive: true, force: true })
}
