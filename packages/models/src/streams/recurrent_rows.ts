import type { FloatDType, RnnStepper, RnnStreamState } from '@cudnn-rnn/ops'
import { hiddenColumns, type RnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import { checkTensor, passShapes } from '@cudnn-rnn/ops/executor'
import type { QueuedStream } from './queued_stream.js'
import type { RowNetwork } from './row_network.js'
import { checkIsState } from './stream_state.js'

type RecurrentRows = RowNetwork<RnnStreamState>

/** Rows that step on the calling thread. */
export function stepperRows(descriptor: RnnDescriptor, dtype: FloatDType, stepper: RnnStepper): RecurrentRows {
  const { inputSize } = descriptor
  const outputSize = hiddenColumns(descriptor)
  return {
    ...{ dtype, inputSize, outputSize },
    step(rows, input, output) {
      const count = rows.length
      stepper.stepRowsSync(
        rows,
        { data: input, shape: [count, inputSize] },
        { data: output, shape: [count, outputSize] },
      )
      return undefined
    },
    reset: (row) => stepper.reset([row]),
    state: async (row) => stepper.state([row]),
    checkedState: (state) => checkedState(descriptor, dtype, state),
    restore: (row, state) => stepper.restore(state, [row]),
    dispose: () => stepper.dispose(),
  }
}

/** Rows that step elsewhere. */
export function queuedRows(descriptor: RnnDescriptor, dtype: FloatDType, stream: QueuedStream): RecurrentRows {
  const { inputSize } = descriptor
  return {
    ...{ dtype, inputSize, outputSize: hiddenColumns(descriptor) },
    async step(rows, input, output) {
      const { data } = await stream.stepRows(rows, { data: input, shape: [rows.length, inputSize] })
      output.set(data)
    },
    reset: (row) => stream.reset([row]),
    state: (row) => stream.state([row]),
    checkedState: (state) => checkedState(descriptor, dtype, state),
    restore: (row, state) => stream.restore(state, [row]),
    dispose: () => stream.dispose(),
  }
}

/** A copy of a state of one row. Throws TypeError `ERR_NOT_A_STATE`, `ERR_DTYPE`; RangeError `ERR_SHAPE`. */
function checkedState(descriptor: RnnDescriptor, dtype: FloatDType, state: RnnStreamState): RnnStreamState {
  const action = 'restore the state of a stream'
  checkIsState(state)
  const shapes = passShapes(descriptor, { time: 1, batch: 1 })
  const copy = (name: string, tensor: Tensor, shape: readonly number[]): Tensor => {
    const { data } = checkTensor(action, name, tensor, { dtype, shape })
    return { data: data.slice(), shape }
  }
  return { h: copy('h', state.h, shapes.h), c: shapes.c && copy('c', state.c as Tensor, shapes.c) }
}
