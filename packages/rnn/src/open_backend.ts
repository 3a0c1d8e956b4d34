import { describeValue } from '@cudnn-rnn/canonical'
import { checkOptions, codedRangeError } from '@cudnn-rnn/canonical/rules'
import { type Backend, type BackendAttempt, BackendUnavailableError } from '@cudnn-rnn/ops'
import {
  type BackendName,
  EXECUTORS,
  type ExecutorRow,
  OPEN_BACKEND_OPTIONS,
  type OpenBackendOptions,
} from './executor_table.js'

/**
 * Opens an executor. "auto" takes the best that works (cudnn, then cpu, wasm and reference) and never throws for lack of
 * hardware; `reason` names the choice and why better executors were not chosen.
 *
 * @throws BackendUnavailableError `ERR_BACKEND_UNAVAILABLE` when the one named cannot work here
 * @throws RangeError `ERR_UNKNOWN_BACKEND`, `ERR_INVALID_OPTION`; TypeError `ERR_UNKNOWN_OPTION`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('auto')
 * console.log(backend.name, '-', backend.reason)
 * backend.dispose()
 * ```
 */
export async function openBackend(name: BackendName = 'auto', options: OpenBackendOptions = {}): Promise<Backend> {
  const given = checkOptions('open a backend', options, OPEN_BACKEND_OPTIONS)
  const candidates: readonly ExecutorRow[] = name === 'auto' ? EXECUTORS : EXECUTORS.filter((row) => row.name === name)
  if (candidates.length === 0) {
    throw codedRangeError(
      'ERR_UNKNOWN_BACKEND',
      `Cannot open a backend as its name must be one of auto, ${EXECUTORS.map((row) => row.name).join(', ')}: current value is ${describeValue(name)}. "cudnn" computes on NVIDIA GPUs, "cpu" and "wasm" on the processor.`,
      { backend: name },
    )
  }
  const passedOver = new Map<string, readonly BackendAttempt[]>()
  let advice = ''
  for (const row of candidates) {
    const tried = await attempt(row, given)
    if ('backend' in tried) return passedOver.size === 0 ? tried.backend : withReason(tried.backend, passedOver)
    passedOver.set(row.name, tried.attempts)
    advice = tried.advice
  }
  throw new BackendUnavailableError(name, [...passedOver.values()].flat(), `${advice} ${await otherExecutor()}`)
}

/** A remedy for every missing executor: the best one that works. */
async function otherExecutor(): Promise<string> {
  for (const row of EXECUTORS) {
    const tried = await attempt(row, {})
    if (!('backend' in tried)) continue
    tried.backend.dispose()
    return `Or use "${row.name}", which works here and is the choice of "auto"; models and checkpoints are the same on every executor.`
  }
  return ''
}

/** State of one executor, as `doctor` reports it. */
export interface BackendReport {
  readonly name: string
  readonly available: boolean
  readonly reason: string
  /** The remedy if it is not available; empty otherwise. */
  readonly advice: string
}

/**
 * Tries every executor, best first, and reports which can be opened here.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { inspectBackends } from '@cudnn-rnn/rnn'
 *
 * for (const { name, available, reason, advice } of await inspectBackends()) {
 *   console.log(name, available ? reason : `${reason}. ${advice}`)
 * }
 * ```
 */
export async function inspectBackends(options: OpenBackendOptions = {}): Promise<BackendReport[]> {
  const given = checkOptions('inspect backends', options, OPEN_BACKEND_OPTIONS)
  const reports: BackendReport[] = []
  for (const row of EXECUTORS) {
    const tried = await attempt(row, given)
    if ('backend' in tried) {
      reports.push({ name: row.name, available: true, reason: tried.backend.reason, advice: '' })
      tried.backend.dispose()
    } else {
      const reason = tried.attempts.map(({ reason }) => reason).join('; ')
      reports.push({ name: row.name, available: false, reason, advice: tried.advice })
    }
  }
  return reports
}

type Attempt = { readonly backend: Backend } | { readonly attempts: readonly BackendAttempt[]; readonly advice: string }

/** Opens one executor, or returns the reason and a remedy. Argument errors are rethrown. */
async function attempt(row: ExecutorRow, options: OpenBackendOptions): Promise<Attempt> {
  try {
    return { backend: await row.open(options) }
  } catch (error) {
    if (!(error instanceof BackendUnavailableError)) throw error
    return { attempts: error.attempts, advice: error.advice }
  }
}

/** `reason` is one line of a log; longer causes are the report's of {@link inspectBackends}. */
const LONGEST_REASON = 160
const LONGEST_CAUSE = 60

/** The backend with the executors that were passed over added to its reason; executors of one cause together. */
function withReason(backend: Backend, passedOver: ReadonlyMap<string, readonly BackendAttempt[]>): Backend {
  const causes = new Map<string, string[]>()
  for (const [name, attempts] of passedOver) {
    const all = attempts.map(({ reason }) => reason).join('; ')
    const cause = all.length > LONGEST_CAUSE ? 'see doctor' : all
    causes.set(cause, [...(causes.get(cause) ?? []), name])
  }
  const notes = Array.from(causes, ([cause, names]) => `no ${names.join(', ')}: ${cause}`).join('; ')
  const whole = `${backend.reason} (${notes})`
  const value =
    whole.length > LONGEST_REASON ? `${backend.reason} (no ${[...passedOver.keys()].join(', ')}: see doctor)` : whole
  return Object.defineProperty(backend, 'reason', { value, enumerable: true })
}
