// Preloaded into the processes of the validation by NODE_OPTIONS; ends them at a line of results that depends on
// nothing but KILL_SEED and how many of their kind there were, so that a loaded machine kills at the same places.
const fs = require('node:fs')
const { syncBuiltinESMExports } = require('node:module')
const { join } = require('node:path')

const { KILL_FOLDER, KILL_SEED, KILL_RUN_AT } = process.env
const MOST_LINES = 6
const MOST_MILLISECONDS = 2000
const { writeSync } = fs
let lines = 0

/** `onLine(number, text, descriptor, write)` takes the place of each write of a line of results. */
function watchLines(onLine) {
  fs.writeSync = (descriptor, text, ...rest) => {
    const write = () => writeSync(descriptor, text, ...rest)
    return typeof text === 'string' && text.endsWith('}\n') ? onLine(++lines, text, descriptor, write) : write()
  }
  syncBuiltinESMExports()
}

/** A number below `limit`, the same for the same `name` and seed. */
function chosen(name, limit) {
  let hash = 2166136261
  for (const byte of Buffer.from(`${name} ${KILL_SEED}`)) hash = Math.imul(hash ^ byte, 16777619) >>> 0
  return (Math.imul(hash ^ (hash >>> 15), 2246822519) >>> 0) % limit
}

const end = () => process.kill(process.pid, 'SIGKILL')

if (process.argv.includes('--section')) {
  const counter = join(KILL_FOLDER, 'processes')
  const count = fs.existsSync(counter) ? fs.statSync(counter).size : 0
  fs.appendFileSync(counter, '.')
  if (KILL_RUN_AT !== undefined) {
    // The run is killed here. Its section waits until the resumed run reaches the same item, then continues.
    watchLines((line, _text, _descriptor, write) => {
      const written = write()
      if (line !== Number(KILL_RUN_AT)) return written
      const orphan = join(KILL_FOLDER, 'orphan')
      fs.writeFileSync(orphan, String(process.pid))
      process.kill(process.ppid, 'SIGKILL')
      const shared = new Int32Array(new SharedArrayBuffer(4))
      // A test that failed has removed the folder.
      while (fs.existsSync(orphan) && !fs.existsSync(join(KILL_FOLDER, 'go_on'))) Atomics.wait(shared, 0, 0, 20)
      return written
    })
  } else if (chosen(`dies ${count}`, 2) === 0) {
    const last = 1 + chosen(`line ${count}`, MOST_LINES)
    watchLines((line, text, descriptor, write) => {
      if (line !== last) return write()
      // A line that is cut short, as by a full disk or a lost machine.
      if (chosen(`cut ${count}`, 2) === 0) writeSync(descriptor, text.slice(0, text.length / 2))
      end()
    })
    // With seeds of a longer test also in the middle of work.
    if (process.env.KILL_IN_WORK) setTimeout(end, chosen(`time ${count}`, MOST_MILLISECONDS)).unref()
  }
}
