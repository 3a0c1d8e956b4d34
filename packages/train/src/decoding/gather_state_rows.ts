import { arrayTypeOf, checkArguments, codedRangeError, kind } from '@cudnn-rnn/canonical/rules'
import { type Backend, type BackendTensor, isBackendTensor } from '@cudnn-rnn/ops'
import { BACKEND, HostStates } from '@cudnn-rnn/ops/executor'

const ARGUMENTS = {
  backend: BACKEND,
  state: kind('a tensor of the executor', isBackendTensor),
  parents: kind('an Int32Array', (parents): parents is Int32Array => arrayTypeOf(parents) === 'Int32Array'),
}

/**
 * A new state [L·D,R,H] whose row r of each layer is row `parents[r]` of the given one, as {@link beamSearch} needs from
 * `gather`. The rows pass through the host: a state is small. The caller disposes both.
 *
 * @throws RangeError `ERR_SHAPE` unless the state has three dimensions, `ERR_ID_OUT_OF_RANGE` for a parent that is not a row
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { gatherStateRows } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const state = backend.tensor({ data: Float32Array.of(1, 1, 2, 2), shape: [1, 2, 2] }) // [L·D,R,H]
 * const gathered = await gatherStateRows(backend, state, Int32Array.of(1, 1, 0))
 * console.log(gathered.shape, await gathered.data()) // [1, 3, 2] [2, 2, 2, 2, 1, 1]
 * ```
 */
export async function gatherStateRows(
  backend: Backend,
  state: BackendTensor,
  parents: Int32Array,
): Promise<BackendTensor> {
  checkArguments('gather rows', { backend, state, parents }, ARGUMENTS)
  const { data, shape } = await state.read()
  if (shape.length !== 3) {
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot gather rows as a state must have shape [L·D,B,H]: current shape is [${shape.join(',')}]`,
      { actual: shape },
    )
  }
  const rows = shape[1]
  for (const [row, parent] of parents.entries()) {
    if (parent >= 0 && parent < rows) continue
    throw codedRangeError(
      'ERR_ID_OUT_OF_RANGE',
      `Cannot gather rows as parents[${row}] must be in 0..${rows - 1}: current value is ${parent}`,
      { argument: 'parents', index: row, value: parent, maximum: rows - 1 },
    )
  }
  const states = new HostStates(backend.dtype, [shape])
  states.put([{ data, shape }])
  return backend.tensor(states.copy(parents)[0])
}
