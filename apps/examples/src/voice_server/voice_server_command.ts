import { availableParallelism } from 'node:os'
import { thrownMessage } from '@cudnn-rnn/canonical/rules'
import type { BackendName } from '@cudnn-rnn/rnn'
import type { Command } from 'commander'
import { integerAtLeast } from '../number_options.js'
import { openSpeechWorkers } from './speech_workers.js'
import { VoiceServer } from './voice_server.js'

interface Options {
  readonly weights: string
  readonly host: string
  readonly port: number
  readonly workers: number
  readonly maxConnections: number
  readonly grace: number
  readonly backend: string
}

export function addVoiceServerCommand(program: Command): void {
  program
    .command('voice-server')
    .description('serve voice activity detection (Silero VAD) over WebSocket')
    .requiredOption('--weights <file>', 'silero_vad_16k_op15.onnx of github.com/snakers4/silero-vad')
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--port <number>', 'port; 0 takes a free one', integerAtLeast(0, 65_535), 8080)
    .option('--workers <number>', 'worker threads', integerAtLeast(1, 1024), availableParallelism())
    .option('--max-connections <number>', 'connections at once', integerAtLeast(1, 1 << 20), 1000)
    .option('--grace <seconds>', 'for clients to receive their last events at shutdown', integerAtLeast(0, 86_400), 10)
    .option('--backend <name>', 'auto, cpu or reference', 'cpu')
    .action(serve)
}

async function serve({ weights, host, port, workers, maxConnections, grace, backend }: Options): Promise<void> {
  const pool = await openSpeechWorkers({
    ...{ weights, workers, backend: backend as BackendName },
    // Room for the streams of a worker that is being replaced.
    maxStreams: maxConnections,
    onWorkerLost: ({ streams, reason }) =>
      process.stderr.write(`a worker ended with ${streams} streams: ${thrownMessage(reason)}\n`),
  })
  const server = new VoiceServer({ pool, maxConnections })
  const taken = await server.listen(port, host)
  process.stdout.write(`http://${host}:${taken}/\n`)
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve())
  })
  await server.close(grace * 1000)
}
