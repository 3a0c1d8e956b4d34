import { type Backend, openBackend } from '@cudnn-rnn/rnn'
import { serve } from '../worker/work.js'
import { WeightViewer } from './weight_viewer.js'
import type { WeightsMessage, WeightsRequest } from './weights_messages.js'

let backend: Promise<Backend> | undefined
let viewer: WeightViewer | undefined

serve<WeightsRequest, WeightsMessage>(async (request, task) => {
  backend ??= openBackend('auto')
  viewer ??= new WeightViewer(await backend)
  if (request.kind === 'open') await viewer.open(request.files, task)
  else if (request.kind === 'show') viewer.show(request.network, task)
  else if (request.kind === 'run') await viewer.run(request.network, request, task)
  else await viewer.convert(request.network, request.format, task)
})
