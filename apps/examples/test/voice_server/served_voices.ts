import { afterEach } from 'vitest'
import { VoiceServer, type VoiceServerOptions } from '../../src/voice_server/voice_server.js'
import { energyPool } from './energy_pool.js'

/** Servers, which are closed after each test. */
export function usesServers() {
  const servers: VoiceServer[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close(0)
  })

  async function serve(options: Partial<VoiceServerOptions> = {}) {
    const server = new VoiceServer({ pool: energyPool(), ...options })
    servers.push(server)
    const port = await server.listen(0)
    const get = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`)
      return { status: response.status, text: await response.text() }
    }
    const refusals = async (reason: string) => {
      const { values } = await server.metrics.refusals.get()
      return values.find(({ labels }) => labels.reason === reason)?.value ?? 0
    }
    return { server, port, get, refusals }
  }

  return { servers, serve }
}

/** Waits for a state of the server that the client does not see. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5))
}
