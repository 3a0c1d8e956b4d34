import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { filesBelow } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
// scripts/build is named, as filesBelow() leaves out folders of that name, in which CMake builds.
const files = ['scripts', 'scripts/build', 'packages', 'apps', 'native'].flatMap((folder) =>
  filesBelow(root, join(root, folder), /\.(ts|mjs|cjs|js)$/).filter((file) => !file.includes('/test/')),
)
const textOf = (file) => readFileSync(join(root, file), 'utf8')

/** Never returns to the event loop, like a computation, and leaves the cores to the other tests. */
const COMPUTE = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'
/** Prints its own pid and the temporary folder, and never ends. */
const CHILD = `console.log(process.pid, process.env.TMPDIR); ${COMPUTE}`
const WAYS = {
  'waits for a child': `spawnSync(process.execPath, ['-e', ${JSON.stringify(CHILD)}], { stdio: 'inherit' })`,
  'computes without a pause': `spawn(process.execPath, ['-e', ${JSON.stringify(CHILD)}], { stdio: 'inherit' }); ${COMPUTE}`,
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
  it.concurrent.each(
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
    while (isRunning(pid) || existsSync(folder)) await pause(10)
  })
})

/** Commands that train, or compute in threads, until they are ended: name, exit code and signal, arguments. */
const COMMANDS = [
  [
    'train',
    [130, null],
    ['apps/cli/dist/bin.js', 'train', '--text', 'apps/cli/data/moby_dick.txt', '--out', 'FOLDER/run'],
  ],
  ['forecast', [130, null], ['apps/cli/dist/bin.js', 'forecast', '--csv', 'FOLDER/series.csv', '--out', 'FOLDER/run']],
  ['handwriting', [null, 'SIGTERM'], ['apps/examples/dist/bin.js', 'handwriting', '--out', 'FOLDER/run']],
  ['soak', [null, 'SIGTERM'], ['--expose-gc', 'scripts/testing/soak_streams.mjs']],
]
const isBuilt = ['apps/cli/dist/bin.js', 'apps/examples/dist/bin.js', 'packages/rnn/dist/index.js'].every((file) =>
  existsSync(join(root, file)),
)

/** Processes with the variable in their environment. */
const processesOf = (variable) =>
  readdirSync('/proc').filter((pid) => {
    try {
      return isRunning(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(variable)
    } catch {
      return false
    }
  })
/** The processor time of a process, in hundredths of a second: proc(5), fields 14 and 15. */
const processorTime = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return Number(fields[11]) + Number(fields[12])
}

describe.skipIf(process.platform !== 'linux' || !isBuilt)('a built program that computes', () => {
  it.concurrent.each(COMMANDS)('%s ends by SIGTERM, and its processes with it', async (name, ending, args) => {
    const folder = mkdtempSync(join(tmpdir(), 'signal-'))
    const series = Array.from({ length: 300 }, (_, t) => `${t},${Math.sin(t)}`)
    writeFileSync(join(folder, 'series.csv'), ['t,value', ...series].join('\n'))
    const endless = ending[0] === 130 ? ['--steps', '1000000', '--json'] : []
    const variable = `CUDNN_RNN_SIGNALLED=${folder}`
    const child = spawn(process.execPath, [...args.map((arg) => arg.replace('FOLDER', folder)), ...endless], {
      stdio: ['ignore', 'pipe', 'ignore'],
      cwd: root,
      env: { ...process.env, CUDNN_RNN_SIGNALLED: folder },
    })
    // It prints its first step, or says nothing while it computes.
    const said = once(child.stdout, 'data').then(() => true)
    while (processorTime(child.pid) < 500 && !(await Promise.race([said, pause(20)]))) expect(child.exitCode).toBeNull()
    const since = performance.now()
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual(ending)
    while (processesOf(variable).length > 0) await pause(10)
    process.stdout.write(`${name} ended ${(performance.now() - since).toFixed(0)} ms after SIGTERM\n`)
    rmSync(folder, { recursive: true })
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

it('each program handles errors of its standard output: without that, `| head` is an uncaught error', () => {
  const programs = files.filter((file) => file.endsWith('/src/bin.ts'))
  expect(programs.length).toBe(3)
  expect(programs.filter((file) => !/\bstdout\.on\('error'/.test(textOf(file)))).toEqual([])
})

it('the scripts that start processes end them', () => {
  // Modules of such scripts or of tests, or a command of less than a second.
  const parts =
    /^scripts\/(\w+\/)?(firefox_process|hot_loops|loopback_registry|npm_package|open_mpi_options|packed_packages|temporary_folder)\.mjs$/
  const starts = /\b(spawn|spawnSync|fork|execFile|execFileSync)\(|from '[./\w]*\/packed_packages\.mjs'/
  const scripts = files.filter(
    (file) => /^scripts\/(\w+\/)?[^/]*\.mjs$|^packages\/fuzzing\/run\.mjs$/.test(file) && !parts.test(file),
  )
  expect(scripts.filter((file) => starts.test(textOf(file)) && !/\bownTemporaryFolder\(\)/.test(textOf(file)))).toEqual(
    [],
  )
})
