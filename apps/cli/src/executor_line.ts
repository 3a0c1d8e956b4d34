import { programCommand } from './invocation.js'

/** What `reason` says of the executors that were passed over, behind what it says of the one chosen. */
const PASSED_OVER = / \(((?:cudnn|cpu|wasm): .*)\)$/s

interface Executor {
  readonly reason: string
}

/** The executor of a backend in a few words; `backend.reason` says too why better ones were passed over. */
export function executorName({ reason }: Executor): string {
  return reason.replace(PASSED_OVER, '')
}

/** {@link executorName}, and where to read why there is no better one. */
export function executorLine(backend: Executor): string {
  const passedOver = PASSED_OVER.exec(backend.reason)?.[1]
  if (passedOver === undefined) return backend.reason
  const missing = [...new Set([...passedOver.matchAll(/(?:^|; )(cudnn|cpu|wasm): /g)].map(([, name]) => name))]
  return `${executorName(backend)} (no ${missing.join(', no ')}: see ${programCommand()} doctor)`
}
