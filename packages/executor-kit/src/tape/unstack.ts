import type { BackendTensor } from '@cudnn-rnn/backend'
import { codedRangeError } from '../coded_error.js'
import { GradientOperations } from './gradient_operations.js'
import type { Recording } from './recording.js'
import type { Value } from './value.js'

const ACTION = 'unstack'

/**
 * The parts of the first dimension. One gradient of all parts together is passed back: parts by `slice` would have one of the whole
 * tensor each.
 *
 * @param made receives the parts
 */
export function unstack(recording: Recording, x: Value, made: Value[]): Value[] {
  const { ops } = recording.backend
  const [count, ...shape] = x.shape
  if (count === undefined) {
    throw codedRangeError('ERR_SHAPE', `Cannot ${ACTION} as x must have shape [N1,…]: current shape is []`, {
      argument: 'x',
      actual: [],
    })
  }
  const results = Array.from({ length: count }, (_, k) => {
    const part = ops.slice(x.tensor, [k, ...shape.map(() => 0)], [1, ...shape])
    try {
      return recording.newValue(ops.reshape(part, shape), x.isDifferentiated, made)
    } finally {
      part.dispose()
    }
  })
  if (!x.isDifferentiated) return results
  const operations = GradientOperations.of(recording.backend)
  recording.add({
    ...{ name: ACTION, operands: [x], results, held: [] },
    operandName: () => 'x',
    pass(given) {
      const { result, made: tensors } = operations.run(recording, () =>
        operations.ops.stack(given.map((gradient): BackendTensor => gradient ?? operations.zeros(shape))),
      )
      return { gradients: [result], made: tensors }
    },
  })
  return results
}
