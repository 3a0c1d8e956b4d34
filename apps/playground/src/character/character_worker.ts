import { type Backend, openBackend } from '@cudnn-rnn/rnn'
import { serve } from '../worker/work.js'
import type { CharacterMessage, CharacterRequest } from './character_messages.js'
import { CharacterTrainer } from './character_trainer.js'

let backend: Promise<Backend> | undefined
let trainer: CharacterTrainer | undefined

serve<CharacterRequest, CharacterMessage>(async (request, task) => {
  backend ??= openBackend('auto')
  trainer ??= new CharacterTrainer(await backend)
  if (request.kind === 'train') await trainer.train(request.text, request.settings, task)
  else if (request.kind === 'write') await trainer.write(request, task)
  else if (request.kind === 'watch') await trainer.watch(request.text, task)
  else await trainer.save(request.format, task)
})
