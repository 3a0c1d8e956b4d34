import { checkOptions, codedRangeError, integerFrom, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import type { Backend, Rnn, TensorLike } from '@cudnn-rnn/ops'
import { QueuedSteps } from './queued_steps.js'
import { StepperStream } from './stepper_stream.js'
import type { Stream } from './stream.js'

const OPTIONS = {
  /** B, independent streams stepped together. Default 1. */
  batch: optional(integerFrom(1)),
}

/** Options of `stream`. */
export interface StreamOptions extends OptionsOf<typeof OPTIONS> {}

/** Opens streams over the executor's own stepper. */
export function openStream(backend: Backend, rnn: Rnn, params: TensorLike, options: StreamOptions): Stream {
  const { batch = 1 } = checkOptions('open a stream', options, OPTIONS)
  if (rnn.descriptor.direction === 'bidirectional') {
    throw codedRangeError(
      'ERR_BIDIRECTIONAL_STREAM',
      'Cannot open a stream as a bidirectional model needs the whole sequence: use call() on it.',
    )
  }
  const stepper = rnn.stepper?.(params, batch) ?? new QueuedSteps(backend, rnn, params, batch)
  return new StepperStream(stepper, rnn.descriptor.inputSize, backend.dtype)
}
