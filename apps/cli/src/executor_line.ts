import { programCommand } from './invocation.js'

/** The part of `reason` about executors that were not chosen; it follows the part about the chosen one. */
const PASSED_OVER = / \(((?:cudnn|cpu|wasm): .*)\)$/s

interface Executor {
  readonly reason: string
}

/** The executor of a backend in a few words; `backend.reason` also states why better ones were passed over. */
export function executorName({ reason }: Executor): string {
  return reason.replace(PASSED_OVER, '')
}

/** {@link executorName}, with a pointer to the reasons against better ones. */
export function executorLine(backend: Executor): string {
  const passedOver = PASSED_OVER.exec(backend.reason)?.[1]
  if (passedOver === undefined) return backend.reason
  const missing = [...new Set([...passedOver.matchAll(/(?:^|; )(cudnn|cpu|wasm): /g)].map(([, name]) => name))]
  return `${executorName(backend)} (no ${missing.join(', no ')}: see ${programCommand()} doctor)`
}
