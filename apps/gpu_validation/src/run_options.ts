import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'

export interface RunOptions {
  readonly folder: string
  readonly isQuick: boolean
  /** A Python that may have PyTorch; empty for none. */
  readonly python: string
  /** Site-packages of that Python, where NVIDIA's wheels may lie. */
  readonly wheels: string | undefined
  /** Seconds for the whole run; 0 for no limit, of its sections neither. */
  readonly limit: number
  /** Names of the sections to run; all if it is empty. */
  readonly only: readonly string[]
  /** Write the report of the outcomes in `folder` here, and run nothing. */
  readonly report: string | undefined
  /** Sections that run side by side, if they measure neither times nor memory. */
  readonly jobs: number
  /** Go on with the run whose results are in `folder`. */
  readonly isResumed: boolean
  /** Hold a context of the device until standard input ends. */
  readonly isHolder: boolean
  /** The section of a process that runs only one. */
  readonly section: string | undefined
  readonly seconds: number
}

/** Each section has a thread of JavaScript and one of the executor. */
function defaultJobs(): number {
  return Math.max(1, Math.min(12, Math.floor(availableParallelism() / 2)))
}

type Run = (command: string, args: readonly string[]) => { readonly status: number | null; readonly stdout: string }

/** `run` runs a program to its end. */
export function parseOptions(args: readonly string[], run: Run): RunOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      python: { type: 'string' },
      limit: { type: 'string', default: '540' },
      only: { type: 'string', default: '' },
      jobs: { type: 'string', default: String(defaultJobs()) },
      report: { type: 'string' },
      resume: { type: 'boolean', default: false },
      hold: { type: 'boolean', default: false },
      section: { type: 'string' },
      seconds: { type: 'string', default: '600' },
    },
  })
  const isChild = values.section !== undefined || values.report !== undefined
  const { python, wheels } = isChild ? { python: values.python ?? '', wheels: undefined } : pythonOf(values.python, run)
  return {
    folder: positionals[0] ?? '.gpu/results',
    isQuick: values.quick,
    python,
    wheels,
    limit: Number(values.limit),
    only: values.only.split(',').filter(Boolean),
    jobs: Math.max(1, Number(values.jobs) || 1),
    report: values.report,
    isResumed: values.resume,
    isHolder: values.hold,
    section: values.section,
    seconds: Number(values.seconds),
  }
}

/** The Python named, else python3; its wheels hold cuDNN if PyTorch was installed by pip. */
function pythonOf(named: string | undefined, run: Run): { python: string; wheels: string | undefined } {
  if (named === 'none') return { python: '', wheels: undefined }
  const python = named ?? 'python3'
  const { status, stdout } = run(python, ['-c', 'import nvidia; print(list(nvidia.__path__)[0])'])
  const wheels = status === 0 && stdout.trim() !== '' ? dirname(stdout.trim()) : undefined
  return { python, wheels }
}
