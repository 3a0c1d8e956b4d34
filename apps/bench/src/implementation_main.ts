// The process of one implementation: `implementation_main <name> <threads> <precision> [instruction set]` plays it over stdin and stdout.

import { createInterface } from 'node:readline'
import { thrownMessage } from '@cudnn-rnn/canonical/rules'
import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import type { Precision } from './comparison.js'
import { openExecutorRunner } from './executor_runner.js'
import type { Greeting } from './implementation_protocol.js'
import { openOnednnRunner } from './onednn_runner.js'
import { openOnnxRuntimeRunner } from './onnxruntime_runner.js'
import { RunnerSession } from './runner_session.js'

const [name = '', threads = '1', precision = 'float32', instructionSet] = process.argv.slice(2)

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

function open() {
  if (name === 'onnxruntime') return openOnnxRuntimeRunner(Number(threads))
  if (name === 'onednn') return openOnednnRunner(Number(threads))
  return openExecutorRunner(name, {
    threads: Number(threads),
    precision: precision as Precision,
    instructionSet: instructionSet as InstructionSet | undefined,
  })
}

try {
  const runner = await open()
  const session = new RunnerSession(runner)
  say({ ready: true, version: runner.version, detail: runner.detail } satisfies Greeting)
  for await (const line of createInterface({ input: process.stdin })) say(await session.reply(line))
} catch (error) {
  say({ ready: false, reason: thrownMessage(error) } satisfies Greeting)
}
// A baseline's thread pool may keep the process alive after the last request; the last line has to get out before.
process.stdout.write('', () => process.exit())
