import { describeValue, type FloatArray } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { type RowNetwork, type StreamPool, type StreamPoolOptions, streamPoolOf } from '@cudnn-rnn/models'
import { isBackendTensor } from '@cudnn-rnn/ops'
import { hostTensor } from '../host_tensor.js'
import type { Layer } from '../layer.js'
import { featuresOf } from '../signal.js'
import type { GraphStream } from './model_graph.js'
import type { WholeModel } from './whole_model.js'

/** The numbers of class ids that the embeddings take which a layer is, or has as its parts. */
function sizesOfTables({ input, parts, variables }: Layer): readonly number[] {
  if (parts.length > 0) return parts.flatMap(sizesOfTables)
  return input.features === null ? variables.map(({ value }) => value.shape[0] as number) : []
}

/** Opens a pool of streams of a model of one input and one output: the rows of one stream. Throws as `LayersModel.streamPool`. */
export function openModelStreamPool({ graph, executor }: WholeModel, options: StreamPoolOptions): StreamPool<unknown> {
  const action = 'step a stream'
  const [{ signal: input }] = graph.inputs
  const isIds = input.features === null
  const count = isIds ? Math.min(...graph.layers.flatMap(sizesOfTables)) : 0
  let rows: GraphStream
  const network: RowNetwork<unknown> = {
    dtype: executor.dtype,
    inputSize: input.features ?? 1,
    outputSize: featuresOf(graph.outputs[0].signal),
    checkFrames(frames) {
      const wrong = isIds ? frames.find((id) => !(Number.isInteger(id) && id >= 0 && id < count)) : undefined
      if (wrong === undefined) return
      throw codedRangeError(
        'ERR_ID_OUT_OF_RANGE',
        `Cannot ${action} as class ids must be integers in 0..${count - 1}: current value is ${describeValue(wrong)}`,
        { value: wrong },
      )
    },
    async step(numbers, frames, output) {
      const shape = [...(input.isSequence ? [1] : []), numbers.length]
      const x = isIds
        ? { data: Int32Array.from(frames), shape }
        : { data: frames.slice() as FloatArray, shape: [...shape, frames.length / numbers.length] }
      const [y] = await rows.step([x], numbers)
      try {
        output.set((await hostTensor(y)).data)
      } finally {
        if (isBackendTensor(y)) y.dispose()
      }
    },
    reset: (row) => rows.reset([row]),
    state: (row) => rows.state([row]),
    checkedState: (state) => rows.checkedState(state, 1),
    restore: (row, state) => rows.restore(state, [row]),
    dispose: () => rows.dispose(),
  }
  const pool = streamPoolOf(network, options)
  rows = graph.openStream(pool.stats().maxStreams)
  return pool
}
