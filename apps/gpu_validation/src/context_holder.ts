import { once } from 'node:events'
import { openSession } from './check.js'

/** Holds a context of the device until standard input ends; without a device there is nothing to hold. */
export async function holdContext(): Promise<void> {
  const session = await openSession({ options: {} }).catch(() => undefined)
  process.stdin.resume()
  await once(process.stdin, 'close')
  await session?.close()
}
