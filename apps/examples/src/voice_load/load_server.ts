// The server of one implementation, in a separate process: a child of the load test.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { VoiceServer } from '../voice_server/voice_server.js'
import { IMPLEMENTATIONS, type ImplementationName, type ImplementationOptions } from './load_implementations.js'

/** Requests the server's usage since the last request. */
interface UsageRequest {
  readonly usage: true
}

export interface ServerUsage {
  /** Since the last question. */
  readonly cpuSeconds: number
  readonly wallSeconds: number
  /** Milliseconds beyond the sampling interval, in the thread that holds the sockets. */
  readonly eventLoopDelayP99Ms: number
  readonly rssBytes: number
}

const RESOLUTION_MS = 1

export async function serveImplementation(name: ImplementationName, options: ImplementationOptions): Promise<void> {
  const pool = await IMPLEMENTATIONS[name].open(options)
  const server = new VoiceServer({ pool, maxConnections: options.maxStreams, maxBurst: 60, pingMs: 600_000 })
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  let cpu = process.cpuUsage()
  let at = performance.now()
  process.on('message', (_: UsageRequest) => {
    const { user, system } = process.cpuUsage(cpu)
    const usage: ServerUsage = {
      cpuSeconds: (user + system) / 1e6,
      wallSeconds: (performance.now() - at) / 1000,
      eventLoopDelayP99Ms: Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS),
      rssBytes: process.memoryUsage.rss(),
    }
    cpu = process.cpuUsage()
    at = performance.now()
    delay.reset()
    process.send?.(usage)
  })
  process.on('disconnect', () => process.exit())
  process.send?.({ port: await server.listen(0) })
}
