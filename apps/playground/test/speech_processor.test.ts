import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openReferenceBackend } from '@cudnn-rnn/rnn/executors'
import { expect, it } from 'vitest'
import type { SpeechMessage } from '../src/speech/speech_messages.js'
import { SpeechProcessor } from '../src/speech/speech_processor.js'
import type { Task } from '../src/worker/work.js'

const TAGGER = fileURLToPath(new URL('../../../fixtures/interop/pytorch/tagger.safetensors', import.meta.url))

function recorder() {
  const messages: SpeechMessage[] = []
  const task: Task<SpeechMessage> = {
    signal: new AbortController().signal,
    post: (message) => messages.push(message),
    breathe: () => Promise.resolve(),
  }
  return { messages, task }
}

it.each(['silero', 'dtln'] as const)('refuses another model as %s and does not run it', async (model) => {
  using backend = openReferenceBackend()
  const processor = new SpeechProcessor(backend)
  const { messages, task } = recorder()
  const file = new File([new Uint8Array(readFileSync(TAGGER))], 'tagger.safetensors')
  await expect(processor.open(model, file, task)).rejects.toMatchObject({
    code: 'ERR_OTHER_MODEL',
    message: expect.stringContaining('tagger.safetensors'),
  })
  await processor.process(new Float32Array(16_000), 'talk.wav', task)
  expect(messages.map(({ kind }) => kind)).toEqual(['finished'])
})
