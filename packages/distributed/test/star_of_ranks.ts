import { createServer } from 'node:net'

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
