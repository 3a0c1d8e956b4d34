import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { filesBelow } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const files = ['scripts', 'packages', 'apps', 'native'].flatMap((folder) =>
  filesBelow(root, join(root, folder), /\.(ts|mjs|cjs|js)$/).filter((file) => !/\/(test|dist|build)\//.test(file)),
)
const textOf = (file) => readFileSync(join(root, file), 'utf8')

/** Prints its own pid and the temporary folder, and never ends. */
const CHILD = 'console.log(process.pid, process.env.TMPDIR); for (;;);'
const WAYS = {
  'waits for a child': `spawnSync(process.execPath, ['-e', ${JSON.stringify(CHILD)}], { stdio: 'inherit' })`,
  'computes without a pause': `spawn(process.execPath, ['-e', ${JSON.stringify(CHILD)}], { stdio: 'inherit' }); for (;;);`,
  'awaits a grandchild': `spawn('sh', ['-c', '"$0" -e "$1"; true', process.execPath, ${JSON.stringify(CHILD)}], { stdio: 'inherit' })`,
}

function isRunning(pid) {
  try {
    // An ended process exists until its parent reads its status.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

describe.skipIf(process.platform !== 'linux')('a program with its own temporary folder', () => {
  it.each(
    Object.entries(WAYS).flatMap(([way, code]) =>
      (way === 'waits for a child' ? ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGKILL'] : ['SIGTERM']).map((signal) => [
        ...[way, signal, code],
      ]),
    ),
  )('that %s ends by %s, and its processes and its folder with it', async (_, signal, code) => {
    const program = `import { spawn, spawnSync } from 'node:child_process'
      import ownTemporaryFolder from ${JSON.stringify(join(root, 'scripts/temporary_folder.mjs'))}
      ownTemporaryFolder()
      ${code}`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [printed] = await once(child.stdout, 'data')
    const [pid, folder] = String(printed).trim().split(' ')
    expect([isRunning(pid), existsSync(folder)]).toEqual([true, true])
    child.kill(signal)
    expect(await once(child, 'exit')).toEqual([null, signal])
    // Until the limit of time of the test.
    while (isRunning(pid) || existsSync(folder)) await new Promise((resolve) => setTimeout(resolve, 10))
  })
})

it('no other program installs a handler of signals: it would never run while the program computes', () => {
  const handler = /process\s*\.(on|once|addListener)\((signal\b|name\b|['"`]SIG)/
  expect(files.filter((file) => handler.test(textOf(file))).sort()).toEqual([
    // It ends the others, and then itself.
    'apps/bench/processes/end_with_benchmark.mjs',
    // A training stops after a step, saved; a second signal ends it.
    'apps/cli/src/interrupt.ts',
    // Clients receive their last events; its workers compute, and a second signal ends it.
    'apps/examples/src/voice_server/voice_server_command.ts',
  ])
})

it('the scripts that start processes end them', () => {
  // Modules of such scripts, or a command of less than a second.
  const parts =
    /^scripts\/(firefox_process|hot_loops|loopback_registry|node_release|packed_packages|temporary_folder|check_packages|measure_install)\.mjs$/
  const starts = /\b(spawn|spawnSync|fork|execFile|execFileSync)\(/
  const scripts = files.filter(
    (file) => /^scripts\/[^/]*\.mjs$|^packages\/fuzzing\/run\.mjs$/.test(file) && !parts.test(file),
  )
  expect(scripts.filter((file) => starts.test(textOf(file)) && !/\bownTemporaryFolder\(\)/.test(textOf(file)))).toEqual(
    [],
  )
})
