import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Frees memory without references, which Python frees at once by counting references. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}
