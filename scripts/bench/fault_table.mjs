// Measures how a distributed job ends when one rank fails, under each launcher of this machine, and how it resumes when it is
// started again:
//
//   npm run build && node scripts/bench/fault_table.mjs [--write] [launcher…]
//
// Each job trains with packages/distributed/test/training_program.ts over three ranks, of which rank 1 fails. The table has
// the seconds from the fault to the end of the last other rank, and the exit code of the launcher. --write
// replaces the table in docs/distributed.md. `srun` needs a running Slurm with four CPUs; torchrun trains on the CUDA
// emulator. TORCHRUN is the path of torchrun.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCudaEmulator } from '../../native/cuda_emulator/cuda_emulator.mjs'
import { bundleProgram } from '../testing/bundle_program.mjs'
import { thisPlatform } from '../build/platforms.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

const root = fileURLToPath(new URL('../..', import.meta.url))
const DOCUMENT = join(root, 'docs/distributed.md')
const [BEGIN, END] = ['<!-- fault table -->', '<!-- end of fault table -->']
const RANKS = 3
const FAILING = 1
/** Limits of the communicator: `silenceSeconds` and `busySeconds` are the defaults. */
const LIMITS = { timeoutSeconds: 15 }
const LONGEST_JOB_MS = 240_000
const POLL_MS = 50
const HEAP_MEGABYTES = 64

const addonOf = (name) => join(root, 'native', name, 'prebuilds', thisPlatform(), `cudnn_rnn_${name}.node`)
// biome-ignore lint/suspicious/noUndeclaredEnvVars: no task of turbo runs this script
const torchrun = process.env.TORCHRUN ?? 'torchrun'

/** `command` starts `RANKS` processes of the program behind it; `restarting` also starts them again after a failure. */
const LAUNCHERS = [
  {
    name: 'mpirun, Open MPI',
    version: ['mpirun.openmpi', '--version'],
    command: ['mpirun.openmpi', '--allow-run-as-root', '--oversubscribe', '--bind-to', 'none', '-n', String(RANKS)],
  },
  {
    name: 'mpiexec, MPICH',
    version: ['mpiexec.mpich', '--version'],
    command: ['mpiexec.mpich', '-n', String(RANKS)],
  },
  {
    name: 'torchrun',
    version: [torchrun, '--help'],
    command: [torchrun, '--no-python', '--nproc-per-node', String(RANKS)],
    restarting: [torchrun, '--no-python', '--nproc-per-node', String(RANKS), '--max-restarts', '3'],
    backend: 'cudnn',
    usesEmulator: true,
  },
  { name: 'srun -K, Open MPI', version: ['sinfo'], command: ['srun', '-K', '--mpi=pmix', '-n', String(RANKS)] },
  { name: 'srun -K, MPICH', version: ['sinfo'], command: ['srun', '-K', '--mpi=pmi2', '-n', String(RANKS)] },
]

const FAULTS = [
  ['kill', 'SIGKILL'],
  ['throw', 'an exception'],
  ['memory', 'out of memory (V8)'],
  ['stop', 'SIGSTOP'],
  ['loop', 'an endless loop'],
  ['wait', 'a promise that nothing settles'],
]

const isInstalled = ({ version: [command, ...args] }) => spawnSync(command, args, { stdio: 'ignore' }).status === 0

/** Processes that run `program` and are not stopped. */
function running(program) {
  return readdirSync('/proc').filter((entry) => {
    if (!/^\d+$/.test(entry)) return false
    try {
      const args = readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0')
      const [, state] = /\) (\w)/.exec(readFileSync(`/proc/${entry}/stat`, 'utf8')) ?? []
      return args[1] === program && readlinkSync(`/proc/${entry}/exe`) === process.execPath && !'TZX'.includes(state)
    } catch {
      // It has ended.
      return false
    }
  })
}

/** The environment of a job, without variables that another launcher may have left. */
function environmentOf(launcher, emulator) {
  return {
    ...process.env,
    CUDNN_RNN_MPI_ADDON: addonOf('mpi'),
    CUDNN_RNN_CUDNN_ADDON: addonOf('cudnn'),
    ...(launcher.usesEmulator && {
      CUDNN_RNN_LIBRARY_DIR: emulator.folder,
      CUDNN_RNN_CUDA_EMULATOR: '1',
      CUDNN_RNN_CUDA_EMULATOR_SETTINGS: `devices=${RANKS}`,
    }),
    ...(launcher.name.includes('Open MPI') && { CUDNN_RNN_MPI_LIBRARY: 'libmpi.so.40' }),
    ...(launcher.name.includes('MPICH') && { CUDNN_RNN_MPI_LIBRARY: 'libmpich.so.12' }),
  }
}

/** Runs a job to the end of its launcher. `ended` is the time at which the last rank that can run has ended. */
async function run(command, program, settings, environment) {
  const [file, ...args] = [...command, process.execPath, program, JSON.stringify(settings)]
  const child = spawn(file, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  child.stdout.on('data', (piece) => output.push(piece.toString()))
  let errors = ''
  child.stderr.on('data', (piece) => {
    errors += piece
  })
  let ended
  const fault = settings.fault?.file
  const poll = setInterval(() => {
    if (fault !== undefined && existsSync(fault) && ended === undefined) {
      // The failing rank itself is in a loop, or waits.
      const left = running(program).length - (isAlive(settings.fault) ? 1 : 0)
      if (left <= 0) ended = Date.now()
    }
  }, POLL_MS)
  const late = setTimeout(() => child.kill('SIGKILL'), LONGEST_JOB_MS)
  const code = await new Promise((resolve) => child.on('close', resolve))
  clearTimeout(late)
  clearInterval(poll)
  return { code, errors, output: output.join(''), ended: ended ?? Date.now() }
}

/** Whether the failing rank may still run, and is counted by running(). */
const isAlive = ({ kind }) => kind === 'loop' || kind === 'wait'

/** The first line that names the failing rank, or the launcher's. */
function lineOf(errors) {
  const lines = errors.split('\n').map((line) => line.trim())
  const names = (line) => new RegExp(`(rank|task)[ :]+${FAILING}\\b`, 'i').test(line)
  const own = lines.find((line) => line.includes('cudnn-rnn:') && names(line))
  const found = own ?? lines.find(names) ?? lines.find((line) => /RUNNING AT|error/i.test(line)) ?? '(none)'
  const text = found.replace(/^.*?cudnn-rnn: /, '').replaceAll(/process \d+/g, 'process N')
  return text.replaceAll(new RegExp(`\\b${hostname()}\\b`, 'g'), 'HOST').replaceAll(/PID \d+/g, 'PID N')
}

async function measure(folder, program, launcher, environment) {
  const cells = []
  for (const [kind, title] of FAULTS) {
    const file = join(folder, `fault-${launcher.name.replaceAll(/\W/g, '')}-${kind}`)
    const fault = { kind, rank: FAILING, batches: 20, file }
    const settings = { engine: 'auto', backend: launcher.backend, epochs: 2000, ...LIMITS, fault }
    const heap = kind === 'memory' ? { NODE_OPTIONS: `--max-old-space-size=${HEAP_MEGABYTES}` } : {}
    const { code, errors, output, ended } = await run(launcher.command, program, settings, { ...environment, ...heap })
    for (const pid of running(program)) process.kill(Number(pid), 'SIGKILL')
    if (!existsSync(file)) throw new Error(`${launcher.name} did not train: ${errors}`)
    const seconds = (ended - Number(readFileSync(file, 'utf8'))) / 1000
    // MPICH's launcher reports on stdout.
    cells.push(`${seconds.toFixed(1)} s, ${code}`)
    console.log([launcher.name, title, cells.at(-1), lineOf(`${errors}\n${output}`)].join(' | '))
  }
  return cells
}

/** Kills a rank once and starts again until the job ends. Throws if the result differs from an uninterrupted job. */
async function restart(folder, program, launcher, environment) {
  const name = launcher.name.replaceAll(/\W/g, '')
  const settings = (checkpoint) => ({ engine: 'auto', backend: launcher.backend, epochs: 40, checkpoint })
  const whole = await run(launcher.command, program, settings(join(folder, `${name}-whole.json`)), environment)
  const fault = { kind: 'kill', rank: FAILING, batches: 100, file: join(folder, `${name}-killed`) }
  const interrupted = { ...settings(join(folder, `${name}-killed.json`)), fault }
  let starts = 0
  let last
  do {
    starts++
    last = await run(launcher.restarting ?? launcher.command, program, interrupted, environment)
  } while (last.code !== 0 && starts < 4)
  const [expected, resumed] = [whole, last].map(({ output, errors }) => {
    const line = output.split('\n').find((text) => text.includes('"kernel"'))
    if (line === undefined) throw new Error(`${launcher.name} has no result: ${errors}`)
    return JSON.parse(line.slice(line.indexOf('{')))
  })
  const isEqual =
    JSON.stringify(expected.kernel) === JSON.stringify(resumed.kernel) &&
    JSON.stringify(expected.losses.slice(-resumed.losses.length)) === JSON.stringify(resumed.losses) &&
    resumed.losses.length < expected.losses.length
  if (!isEqual) throw new Error(`${launcher.name}: the resumed job differs from an uninterrupted one`)
  const cell = `equal bits; ${resumed.losses.length} of ${expected.losses.length} updates after the last start`
  console.log(`${launcher.name} | started again | ${cell}`)
  return cell
}

const table = (titles, rows) =>
  [titles, titles.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
    .join('\n')

const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const launchers = LAUNCHERS.filter(({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
const folder = mkdtempSync(join(tmpdir(), 'faults-'))
try {
  const program = join(folder, 'training_program.mjs')
  await bundleProgram(join(root, 'packages/distributed/test/training_program.ts'), program, {
    external: ['apache-arrow', 'hyparquet', 'hyparquet-compressors'],
  })
  const emulator = launchers.some(({ usesEmulator }) => usesEmulator) ? openCudaEmulator(9) : undefined
  const rows = []
  for (const launcher of launchers) {
    if (!isInstalled(launcher)) {
      console.log(`${launcher.name} is not installed here, and is left out`)
      continue
    }
    const environment = environmentOf(launcher, emulator)
    const ends = await measure(folder, program, launcher, environment)
    rows.push([launcher.name, ...ends, await restart(folder, program, launcher, environment)])
  }
  const text = table(['launcher', ...FAULTS.map(([, title]) => title), 'started again after SIGKILL'], rows)
  console.log(text)
  if (process.argv.includes('--write')) {
    const document = readFileSync(DOCUMENT, 'utf8')
    const [before, rest] = document.split(BEGIN)
    if (rest === undefined) throw new Error(`${DOCUMENT} has no ${BEGIN}`)
    writeFileSync(DOCUMENT, `${before}${BEGIN}\n\n${text}\n\n${END}${rest.split(END)[1]}`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
