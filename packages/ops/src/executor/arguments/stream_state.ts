import { describeValue, type RnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { FloatDType, RnnStreamState } from '@cudnn-rnn/ops'
import { passShapes } from './pass_shapes.js'
import { checkCellState } from './rnn_arguments.js'
import { checkTensor } from './tensor_arguments.js'

/** The tensors of a result of `Stream.state()`, each read once. Throws TypeError `ERR_NOT_A_STATE` for any other value. */
export function tensorsOfState(state: unknown): RnnStreamState {
  let cause: unknown
  try {
    if (typeof state === 'object' && state !== null && 'h' in state) {
      const { h, c } = state as RnnStreamState
      return { h, c }
    }
  } catch (error) {
    cause = error
  }
  throw codedTypeError(
    'ERR_NOT_A_STATE',
    `Cannot restore the state of a stream as it must be a result of state(): current value is ${describeValue(state)}`,
    { cause },
  )
}

/** A copy of a state of `batch` rows. Throws TypeError `ERR_NOT_A_STATE`, `ERR_DTYPE`; RangeError `ERR_SHAPE`. */
export function checkedStreamState(
  descriptor: RnnDescriptor,
  dtype: FloatDType,
  state: unknown,
  batch: number,
): RnnStreamState {
  const action = 'restore the state of a stream'
  const { h, c } = tensorsOfState(state)
  checkCellState(action, 'c', c, descriptor)
  const shapes = passShapes(descriptor, { time: 1, batch })
  const copy = (name: string, tensor: Tensor, shape: readonly number[]): Tensor => {
    const { data } = checkTensor(action, name, tensor, { dtype, shape })
    return { data: data.slice(), shape }
  }
  return { h: copy('h', h, shapes.h), c: shapes.c && copy('c', c as Tensor, shapes.c) }
}
