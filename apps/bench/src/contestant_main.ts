// The process of one contestant: `contestant_main <name> <threads> <weights> [instruction set]` plays it over stdin and stdout.
import { createInterface } from 'node:readline'
import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import type { WeightType } from './comparison.js'
import type { Greeting } from './contestant_protocol.js'
import { openExecutorPlayer } from './executor_player.js'
import { openOnednnPlayer } from './onednn_player.js'
import { openOnnxRuntimePlayer } from './onnxruntime_player.js'
import { PlayerSession } from './player_session.js'
import { openTfjsPlayer } from './tfjs_player.js'

const [name = '', threads = '1', weights = 'float32', instructionSet] = process.argv.slice(2)

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

function open() {
  if (name === 'onnxruntime') return openOnnxRuntimePlayer(Number(threads))
  if (name === 'onednn') return openOnednnPlayer(Number(threads))
  if (name === 'tfjs-wasm' || name === 'tfjs-cpu') return openTfjsPlayer(name === 'tfjs-wasm' ? 'wasm' : 'cpu')
  return openExecutorPlayer(name, {
    threads: Number(threads),
    weights: weights as WeightType,
    instructionSet: instructionSet as InstructionSet | undefined,
  })
}

try {
  const player = await open()
  const session = new PlayerSession(player)
  say({ ready: true, version: player.version, detail: player.detail } satisfies Greeting)
  for await (const line of createInterface({ input: process.stdin })) say(await session.reply(line))
} catch (error) {
  say({ ready: false, reason: error instanceof Error ? error.message : String(error) } satisfies Greeting)
}
// A peer's thread pool may keep the process alive after the last request; the last line has to get out before.
process.stdout.write('', () => process.exit())
