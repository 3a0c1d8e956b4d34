// Ends the processes of a program and removes its temporary folder, the argument, when the program has ended, however it did.
// The system closes stdin then: the program has the other end of it.
import { readdirSync, readFileSync, rmSync } from 'node:fs'

const [folder] = process.argv.slice(2)

process.stdin.resume().on('close', () => {
  // A process that is about to start others has been stopped by the last round.
  for (let round = 0; round < 20 && killAll(); round++);
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** Kills the processes whose temporary folder is this one, or one below, and those that they have started. Linux only. */
function killAll() {
  const processes = listed('/proc').filter((name) => /^\d+$/.test(name))
  const isOwn = (pid) =>
    read(pid, 'environ')
      .split('\0')
      .some((variable) => variable === `TMPDIR=${folder}` || variable.startsWith(`TMPDIR=${folder}/`))
  const found = processes.filter(isOwn)
  // A program may start others with another environment, as turbo does.
  for (const pid of found) found.push(...read(pid, `task/${pid}/children`).split(' ').filter(Boolean))
  for (const pid of found) {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // It has ended meanwhile.
    }
  }
  return found.length > 0
}

function listed(path) {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** Empty if the process has ended, or is another user's. */
function read(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8').trim()
  } catch {
    return ''
  }
}
