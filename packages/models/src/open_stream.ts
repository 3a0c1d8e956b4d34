import type { Backend, Rnn, TensorLike } from '@cudnn-rnn/backend'
import { checkOptionNames } from '@cudnn-rnn/canonical'
import { checkStreamBatch } from '@cudnn-rnn/executor-kit'
import { codedRangeError } from './coded_error.js'
import { QueuedStream } from './queued_stream.js'
import { StepperStream } from './stepper_stream.js'
import type { Stream, StreamOptions } from './stream.js'

/** Opens streams over the executor's own stepper. */
export function openStream(backend: Backend, rnn: Rnn, params: TensorLike, options: StreamOptions): Stream {
  checkOptionNames('open a stream', options, ['batch'])
  const batch = options.batch ?? 1
  checkStreamBatch(batch)
  if (rnn.descriptor.direction === 'bidirectional') {
    throw codedRangeError(
      'ERR_BIDIRECTIONAL_STREAM',
      'Cannot open a stream as a bidirectional model needs the whole sequence: use call() on it.',
    )
  }
  if (rnn.stepper !== undefined) return new StepperStream(rnn.stepper(params, batch))
  return new QueuedStream(backend, rnn, params, batch)
}
