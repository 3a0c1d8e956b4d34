import { type Backend, openBackend } from '@cudnn-rnn/rnn'
import { serve } from '../worker/work.js'
import type { SpeechMessage, SpeechRequest } from './speech_messages.js'
import { SpeechProcessor } from './speech_processor.js'

let backend: Promise<Backend> | undefined
let processor: SpeechProcessor | undefined

serve<SpeechRequest, SpeechMessage>(async (request, task) => {
  backend ??= openBackend('auto')
  processor ??= new SpeechProcessor(await backend)
  if (request.kind === 'open') await processor.open(request.model, request.file, task)
  else await processor.process(request.samples, request.name, task)
})
