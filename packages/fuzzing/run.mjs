// Builds files and reads them: node packages/fuzzing/run.mjs <grammars.ts> [files] [seed] [first file]
// The module of grammars exports GRAMMARS and isCoded. A child process does the work, so that a file on which it hangs is
// found out too. Prints what came of the files; the first that breaks a rule ends the run with its seed and number.
import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const LONGEST_SILENCE_MS = Number(process.env.CUDNN_RNN_FUZZ_SILENCE_MS ?? 120_000)
const here = fileURLToPath(new URL('.', import.meta.url))

if (process.send === undefined) await watchFuzzing()
else await runFuzzing()

async function watchFuzzing() {
  const [grammars, files = '100000', seed = '1', first = '0'] = process.argv.slice(2)
  // Beside the installed packages that the grammars' own package depends on.
  const folder = await mkdtemp(join(resolve(grammars, '../../node_modules'), '.fuzz-'))
  try {
    const outfile = join(folder, 'fuzz.mjs')
    await bundle(resolve(grammars), outfile)
    const child = fork(fileURLToPath(import.meta.url), [outfile, files, seed, first], { execArgv: ['--expose-gc'] })
    let current = 'none'
    let timer = setTimeout(() => undefined, 0)
    child.on('message', (message) => {
      current = message
      clearTimeout(timer)
      timer = setTimeout(() => {
        console.error(`seed ${seed}, file ${current}: hangs`)
        child.kill('SIGKILL')
      }, LONGEST_SILENCE_MS)
    })
    const [code, signal] = await new Promise((done) => child.on('exit', (...end) => done(end)))
    clearTimeout(timer)
    if (code !== 0) throw new Error(`the run ended with ${signal ?? code} at file ${current} of seed ${seed}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function bundle(entry, outfile) {
  const packages = await readdir(join(here, '..'))
  const sources = packages.map((name) => [`@cudnn-rnn/${name}`, join(here, '..', name, 'src/index.ts')])
  await build({
    stdin: {
      contents: `export * from ${JSON.stringify(entry)}\nexport { fuzzFiles } from '@cudnn-rnn/fuzzing'`,
      resolveDir: here,
    },
    outfile,
    bundle: true,
    external: ['h5wasm', '@node-rs/crc32'],
    alias: Object.fromEntries(sources.filter(([, source]) => existsSync(source))),
    format: 'esm',
    platform: 'node',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)" },
  })
}

async function runFuzzing() {
  const [bundled, files, seed, first] = process.argv.slice(2)
  const { GRAMMARS, isCoded, fuzzFiles } = await import(pathToFileURL(bundled).href)
  const began = performance.now()
  // A short run names the file that hangs; a long one where it began to be silent.
  const every = Number(files) > 1000 ? 64 : 1
  const onFile = (file, grammar) => {
    if (file % every === 0) process.send(`${file} (${grammar})`)
    // What is garbage must not count as memory of the next file.
    if (file % 256 === 0) globalThis.gc()
  }
  const options = {
    grammars: GRAMMARS,
    isCoded,
    onFile,
    files: Number(files),
    seed: Number(seed),
    first: Number(first),
  }
  const counts = await fuzzFiles(options)
  console.log(JSON.stringify(counts, undefined, 2))
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(`${counts.files} files, seed ${seed}, ${seconds} s: none crashed, hung, swelled or ended without a code`)
  process.disconnect()
}
