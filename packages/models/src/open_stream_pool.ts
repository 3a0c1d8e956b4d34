import type { Backend, Rnn, TensorLike } from '@cudnn-rnn/backend'
import { codedRangeError, hiddenColumns } from '@cudnn-rnn/canonical'
import { BatchingPool } from './batching_pool.js'
import { ForwardStream } from './forward_stream.js'
import { checkPoolOptions } from './pool_options.js'
import { forwardRows, stepperRows } from './pool_rows.js'
import type { StreamPool, StreamPoolOptions } from './stream_pool.js'

/** Opens a pool over the executor's own stepper, or over its forward where it has none. */
export function openStreamPool(backend: Backend, rnn: Rnn, params: TensorLike, options: StreamPoolOptions): StreamPool {
  const checked = checkPoolOptions(options)
  const { descriptor } = rnn
  if (descriptor.direction === 'bidirectional') {
    throw codedRangeError(
      'ERR_BIDIRECTIONAL_STREAM',
      'Cannot open a pool of streams as a bidirectional model needs the whole sequence: use call() on it.',
    )
  }
  const sizes = { inputSize: descriptor.inputSize, columns: hiddenColumns(descriptor) }
  const rows =
    rnn.stepper === undefined
      ? forwardRows(new ForwardStream(backend, rnn, params, checked.maxStreams), sizes)
      : stepperRows(rnn.stepper(params, checked.maxStreams), sizes)
  return new BatchingPool({ descriptor, dtype: backend.dtype, rows }, checked)
}
