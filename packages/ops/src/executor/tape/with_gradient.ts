import type { BackendTensor } from '@cudnn-rnn/ops'
import { GradientOperations } from './gradient_operations.js'
import type { TapeHandle } from './tape_handle.js'
import type { Value } from './value.js'

/**
 * A scalar of x that was computed together with its gradient, but not by an operation of the tape. The tape takes both over.
 *
 * @param name completes "Cannot compute gradients as …"
 */
export function withGradient(
  { recording, made }: TapeHandle,
  name: string,
  x: Value,
  scalar: BackendTensor,
  gradient: BackendTensor,
): Value {
  const result = recording.newValue(scalar, x.isDifferentiated, made)
  recording.own(gradient)
  if (x.isDifferentiated) {
    const operations = GradientOperations.of(recording.backend)
    recording.add({
      ...{ name, operands: [x], results: [result], held: [gradient], known: [gradient], operandName: () => 'x' },
      pass([given]) {
        const { result, made } = operations.run(recording, () =>
          operations.ops.multiply(gradient, given as BackendTensor),
        )
        return { gradients: [result], made }
      },
    })
  }
  recording.letGo(gradient)
  return result
}
