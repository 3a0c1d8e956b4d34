let collect: (() => void) | undefined

/** Whether garbage can be collected on demand: in Node.js, not in browsers. */
export const canCollectGarbage = typeof process === 'object' && typeof process.versions?.node === 'string'

/** Collects garbage, and lets finalizers run. */
export async function collectGarbage(): Promise<void> {
  if (collect === undefined) {
    const [{ setFlagsFromString }, { runInNewContext }] = await Promise.all([import('node:v8'), import('node:vm')])
    setFlagsFromString('--expose-gc')
    collect = runInNewContext('gc') as () => void
  }
  collect()
  await new Promise((resolve) => setTimeout(resolve, 5))
}
