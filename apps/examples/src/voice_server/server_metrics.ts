import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { SpeechPool } from './speech_pool.js'

/** Why a connection was refused or closed by the server. */
export type RefusalReason =
  | 'capacity'
  | 'draining'
  | 'frame_size'
  | 'rate'
  | 'slow_reader'
  | 'protocol'
  | 'stream_lost'
  | 'silent_peer'
  | 'failure'

/** The metrics of one server, in a separate registry. */
export class ServerMetrics {
  readonly registry = new Registry()
  readonly frames: Counter
  readonly events: Counter<'type'>
  readonly refusals: Counter<'reason'>
  readonly latency: Histogram

  constructor(pool: SpeechPool, connections: () => number) {
    const registers = [this.registry]
    collectDefaultMetrics({ register: this.registry })
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read())
        },
      })
    gauge('voice_connections', 'WebSocket connections that are open', connections)
    gauge('voice_streams_max', 'Streams that the workers which are ready may have', () => pool.stats().maxStreams)
    gauge('voice_frames_waiting', 'Frames that wait for their result', () => pool.stats().waiting)
    gauge('voice_workers_lost', 'Worker threads that ended unexpectedly', () => pool.stats().lostWorkers ?? 0)
    this.frames = new Counter({ name: 'voice_frames_total', help: 'Frames computed, 32 ms each', registers })
    this.events = new Counter({ name: 'voice_events_total', help: 'Events sent', labelNames: ['type'], registers })
    this.refusals = new Counter({
      name: 'voice_refusals_total',
      help: 'Connections refused or closed by the server',
      labelNames: ['reason'],
      registers,
    })
    this.latency = new Histogram({
      name: 'voice_frame_latency_seconds',
      help: 'From the last sample of a frame to its probability',
      buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1],
      registers,
    })
  }
}
