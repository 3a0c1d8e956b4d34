import { type ChildProcess, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { OPEN_MPI_OPTIONS, startLauncher } from '../../../scripts/testing/open_mpi_options.mjs'

/** An MPI of this machine. Debian installs both side by side. */
export interface MpiLauncher {
  readonly name: string
  readonly command: string
  readonly options: readonly string[]
  /** Its report of a rank that a signal has ended. */
  reports(rank: number, signal: number): RegExp
  /** A library of the other family, which sees every process as a separate world. */
  readonly foreign: string
}

/** The first is the one that starts faster: it runs the cases of one launcher. */
const KNOWN: readonly MpiLauncher[] = [
  {
    name: 'MPICH',
    command: 'mpiexec.mpich',
    options: [],
    // It names a process and not the rank. Hydra kills the others as soon as one has closed its connection, and reports the
    // first process of which it has the status of a signal: on a busy host that may be one that it has killed itself.
    reports: (_, signal) => new RegExp(`PID \\d+ RUNNING AT .*\n=\\s+EXIT CODE: (${signal}|9)\\b`, 'g'),
    foreign: 'libmpi.so.40',
  },
  {
    name: 'Open MPI',
    command: 'mpirun.openmpi',
    options: OPEN_MPI_OPTIONS,
    // Open MPI 5 breaks the lines of its message.
    reports: (rank, signal) =>
      new RegExp(`rank ${rank} with PID \\d+ on node \\S+ exited on signal ${signal} `.replaceAll(' ', '\\s+'), 'g'),
    foreign: 'libmpich.so.12',
  },
]

/** The launchers that are installed; a message names each that is not. */
export function installedLaunchers(): MpiLauncher[] {
  return KNOWN.filter(({ name, command }) => {
    const isInstalled = spawnSync(command, ['--version'], { stdio: 'ignore' }).status === 0
    if (!isInstalled) console.warn(`Tests over ${name} are skipped, as ${command} was not found`)
    return isInstalled
  })
}

export interface LaunchResult {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/**
 * Runs `program` in `ranks` processes; rejects after 100 seconds.
 *
 * @param onOutput called with all of the output so far, whenever there is more
 */
export function launch(
  { command, options }: MpiLauncher,
  ranks: number,
  program: string,
  given: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  onOutput: (launcher: ChildProcess, output: string) => void = () => {},
): Promise<LaunchResult> {
  const addon = fileURLToPath(
    new URL(
      `../../../native/mpi/prebuilds/${process.platform}-${process.arch}-gnu/cudnn_rnn_mpi.node`,
      import.meta.url,
    ),
  )
  const child = startLauncher(command, [...options, '-n', String(ranks), process.execPath, program, ...given], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CUDNN_RNN_MPI_ADDON: addon, ...environment },
  })
  let [output, errors] = ['', '']
  child.stdout.on('data', (piece: Buffer) => {
    output += piece.toString()
    onOutput(child, output)
  })
  child.stderr.on('data', (piece: Buffer) => {
    errors += piece.toString()
  })
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`${command} did not end: ${output}${errors}`))
    }, 100_000)
    child.on('close', (code) => {
      clearTimeout(late)
      resolve({ code, output, errors })
    })
  })
}
