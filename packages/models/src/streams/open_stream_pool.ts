import { describeValue, hiddenColumns, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { checkArguments, checkIsObject, codedRangeError, FUNCTION, methods, optional } from '@cudnn-rnn/canonical/rules'
import type { Backend, FloatDType, Rnn, RnnStreamState, TensorLike } from '@cudnn-rnn/ops'
import { allocating, checkedStreamState } from '@cudnn-rnn/ops/executor'
import { BatchingPool } from './batching_pool.js'
import { checkPoolOptions, type StreamPoolOptions } from './pool_options.js'
import { QueuedSteps } from './queued_steps.js'
import type { RowNetwork } from './row_network.js'
import type { CheckedStepper } from './stepper_stream.js'
import type { PooledStream, StreamPool } from './stream_pool.js'

/** Opens a pool over the executor's own stepper. */
export function openStreamPool(backend: Backend, rnn: Rnn, params: TensorLike, options: StreamPoolOptions): StreamPool {
  const checked = checkPoolOptions(options)
  const { descriptor } = rnn
  if (descriptor.direction === 'bidirectional') {
    throw codedRangeError(
      'ERR_BIDIRECTIONAL_STREAM',
      'Cannot open a pool of streams as a bidirectional model needs the whole sequence: use call() on it.',
    )
  }
  const { maxStreams } = checked
  const stepper = rnn.stepper?.(params, maxStreams) ?? new QueuedSteps(backend, rnn, params, maxStreams)
  return new BatchingPool(rowsOf(descriptor, backend.dtype, stepper), checked)
}

const NETWORK = methods(
  'a network with the methods step, reset, state, checkedState, restore and dispose',
  ...(['step', 'reset', 'state', 'checkedState', 'restore', 'dispose'] as const),
)

/**
 * Opens a pool over your own network: a model that has layers beside its recurrent ones.
 *
 * @param handleOf makes the values of `open()`: your own class over a stream, such as one that takes named inputs. Default: the stream
 * @throws RangeError `ERR_INVALID_OPTION`; TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`
 * @example
 * ```ts
 * import type { RowNetwork } from '@cudnn-rnn/rnn'
 * import { streamPoolOf } from '@cudnn-rnn/rnn/layers'
 *
 * // The running sum of each stream: I = D = 1.
 * const sums = new Map<number, number>()
 * const sumOf = (row: number) => sums.get(row) ?? 0
 * const network: RowNetwork<number> = {
 *   dtype: 'float32',
 *   inputSize: 1,
 *   outputSize: 1,
 *   step(rows, input, output) {
 *     for (const [at, row] of rows.entries()) sums.set(row, (output[at] = sumOf(row) + (input[at] ?? 0)))
 *     return undefined
 *   },
 *   reset: (row) => void sums.delete(row),
 *   state: async (row) => sumOf(row),
 *   checkedState: (state) => state,
 *   restore: (row, state) => void sums.set(row, state),
 *   dispose() {},
 * }
 * const pool = streamPoolOf(network, { maxStreams: 8 })
 * const stream = pool.open()
 * const { data } = await stream.step({ data: Float32Array.of(1, 2, 3), shape: [3, 1] })
 * console.log(data) // [1, 3, 6]
 * pool.dispose()
 * ```
 */
export function streamPoolOf<State, Handle = PooledStream<State>>(
  network: RowNetwork<State>,
  options: StreamPoolOptions = {},
  handleOf?: (stream: PooledStream<State>) => Handle,
): StreamPool<State, Handle> {
  const action = 'open a pool of streams'
  checkIsObject(action, 'network', network)
  for (const size of ['inputSize', 'outputSize'] as const) {
    if (Number.isSafeInteger(network[size]) && network[size] >= 1) continue
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot ${action} as ${size} of its network must be an integer >= 1: current value is ${describeValue(network[size])}`,
      { option: size, value: network[size] },
    )
  }
  if (network.dtype !== 'float32' && network.dtype !== 'float64') {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot ${action} as dtype of its network must be float32 or float64: current value is ${describeValue(network.dtype)}`,
      { option: 'dtype', value: network.dtype },
    )
  }
  checkArguments(action, { network, handleOf }, { network: NETWORK, handleOf: optional(FUNCTION) })
  const checked = checkPoolOptions(options)
  return allocating(action, () => new BatchingPool<State, Handle>(network, checked, handleOf))
}

/** The rows of a stepper. */
function rowsOf(descriptor: RnnDescriptor, dtype: FloatDType, stepper: CheckedStepper): RowNetwork<RnnStreamState> {
  const { inputSize } = descriptor
  const outputSize = hiddenColumns(descriptor)
  return {
    ...{ dtype, inputSize, outputSize },
    step(rows, input, output) {
      const shape = [rows.length, inputSize]
      // A step elsewhere reads its input later.
      const made = stepper.stepRows?.(rows, { data: input.slice(), shape })
      if (made !== undefined) return made.then(({ data }) => output.set(data))
      stepper.stepRowsSync(rows, { data: input, shape }, { data: output, shape: [rows.length, outputSize] })
      return undefined
    },
    reset: (row) => stepper.reset([row]),
    state: async (row) => stepper.state([row]),
    checkedState: (state) => checkedStreamState(descriptor, dtype, state, 1),
    restore: (row, state) => stepper.restore(state, [row]),
    dispose: () => stepper.dispose(),
  }
}
