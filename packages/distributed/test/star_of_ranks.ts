import { createServer } from 'node:net'
import { afterEach } from 'vitest'
import { CallProgress } from '../src/nccl/call_progress.js'
import { TcpStar } from '../src/nccl/tcp_star.js'

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

export const messageOf = (call: Promise<unknown>) =>
  call.then(
    () => 'resolved',
    (error: Error) => error.message,
  )

/** Ends of stars, which are closed after each test, and a function that opens the ends of `size` ranks in this process. */
export function usesStars() {
  const open: TcpStar[] = []
  afterEach(() => {
    for (const star of open.splice(0)) star.close()
  })

  async function ranks(size: number) {
    const port = await freePort()
    const all = await Promise.all(
      Array.from({ length: size }, async (_, rank) => {
        const progress = new CallProgress()
        const options = {
          rank,
          size,
          host: '127.0.0.1',
          port,
          job: 'test',
          timeoutSeconds: 30,
          progress: () => progress.current,
        }
        const star = await TcpStar.open(options)
        open.push(star)
        const gather = async (bytes = Uint8Array.of(rank)) => {
          const sequence = progress.begin('allGather')
          try {
            return await star.allGather(bytes)
          } finally {
            progress.end(sequence)
          }
        }
        return { star, progress, options, gather }
      }),
    )
    return all
  }

  return { open, ranks }
}
