import { readdirSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** Ten times as long as the slowest file takes on two cores. */
const LONGEST_MS = 10 * 60_000
const LOOK_EVERY_MS = 1_000

/**
 * A reporter of vitest that ends the processes of the tests when a file has run for ten minutes. vitest itself has time
 * limits for tests and hooks, which a worker that is blocked in a synchronous call, or that still loads its file, never
 * reaches: without this, one such file ends the whole run at the time limit of CI, unnamed. The file is reported as
 * "Worker exited unexpectedly", as is the one that runs beside it; all others are run. Linux only.
 */
export default class StuckTests {
  #running = new Map()
  #timer

  onTestRunStart() {
    if (process.platform === 'linux') this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS)
  }

  onTestModuleQueued(module) {
    this.#running.set(module.moduleId, performance.now())
  }

  onTestModuleEnd(module) {
    this.#running.delete(module.moduleId)
  }

  onTestRunEnd() {
    clearInterval(this.#timer)
  }

  #look() {
    const now = performance.now()
    const stuck = [...this.#running].filter(([, began]) => now - began > LONGEST_MS).map(([file]) => file)
    if (stuck.length === 0) return
    const names = stuck.map((file) => relative(process.cwd(), file)).join(', ')
    const processes = descendantsOf(process.pid)
    console.error(
      `Test files still running after ${LONGEST_MS / 1000} s: ${names}\n${processes.map(describe).join('\n')}`,
    )
    this.#running.clear()
    for (const pid of processes) end(pid)
  }
}

/** The processes that `pid` has started, and those that they have started. */
function descendantsOf(pid) {
  const children = readProcess(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number)
  return children.flatMap((child) => [child, ...descendantsOf(child)])
}

/** A process and its threads, each with the function of the kernel that it waits in. */
function describe(pid) {
  const command = readProcess(pid, 'cmdline').replaceAll('\0', ' ').slice(0, 300)
  const threads = listThreads(pid).map((thread) => {
    const read = (name) => readProcess(pid, `task/${thread}/${name}`)
    return `  ${read('comm')} waits in ${read('wchan')}, system call ${read('syscall')}`
  })
  return [`${pid}: ${command}`, ...threads].join('\n')
}

/** Empty if the process has ended. */
function readProcess(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8').trim()
  } catch {
    return ''
  }
}

function listThreads(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

function end(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}
