// Whether a program ends by a signal while and after NVRTC compiles, which handles signals itself and gives Node.js's handlers
// back changed: node signals.mjs ADDON FOLDER. Its last line has the problems, as JSON.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openNvrtc } from '../../build/open_nvrtc.mjs'
import { BLOCK } from './kernels.mjs'

/** A compilation takes several times as long. */
const MILLISECONDS_BEFORE_SIGNAL = 300
/** A program that does not end is killed. */
const MOST_MILLISECONDS = 60_000

const [file, folder, role] = process.argv.slice(2)
if (role === 'compile') {
  const { addon, libraries } = openNvrtc(file, folder)
  const options = ['--gpu-architecture=sm_90', '-DREAL=float', `-DBLOCK=${BLOCK}`]
  const compiled = addon.compileKernels(libraries, addon.kernelSource(), options)
  console.log('begun')
  await compiled
  console.log('ended')
  await setTimeout(MOST_MILLISECONDS)
}

const problems = []
for (const when of ['begun', 'ended']) {
  for (const name of ['SIGTERM', 'SIGINT']) {
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), file, folder, 'compile'], {
      ...{ stdio: ['ignore', 'pipe', 'inherit'], timeout: MOST_MILLISECONDS, killSignal: 'SIGKILL' },
    })
    let said = ''
    child.stdout.on('data', (text) => {
      said += text
      if (said.endsWith(`${when}\n`)) setTimeout(MILLISECONDS_BEFORE_SIGNAL).then(() => child.kill(name))
    })
    const [, signal] = await once(child, 'close')
    const last = said.trim().split('\n').at(-1)
    if (signal !== name || last !== when) {
      problems.push(`${name} once the compilation has ${when}: ended by ${signal}, when it had ${last}`)
    }
  }
}
console.log(JSON.stringify({ problems }))
