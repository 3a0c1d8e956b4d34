import { checkArguments, codedRangeError, integerFrom } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor, DenseOps } from '@cudnn-rnn/ops'
import { GradientOperations } from './gradient_operations.js'
import type { Recording } from './recording.js'
import type { Value } from './value.js'

/** How parts are taken out of a tensor, and joined again. */
interface Parting {
  readonly name: string
  readonly count: number
  /** A part's shape. */
  readonly shape: readonly number[]
  readonly part: (ops: DenseOps, k: number) => BackendTensor
  readonly joined: (ops: DenseOps, parts: readonly BackendTensor[]) => BackendTensor
}

/**
 * The parts of the first dimension.
 *
 * @param made receives the parts
 */
export function unstack(recording: Recording, x: Value, made: Value[]): Value[] {
  const name = 'unstack'
  const [count, ...shape] = x.shape
  if (count === undefined) throw shapeError(name, 'x must have shape [N1,…]', x)
  const part = (ops: DenseOps, k: number) => {
    using row = ops.slice(x.tensor, [k, ...shape.map(() => 0)], [1, ...shape])
    return ops.reshape(row, shape)
  }
  return inParts(recording, x, { name, count, shape, part, joined: (ops, parts) => ops.stack(parts) }, made)
}

/**
 * Blocks of as many columns each.
 *
 * @param made receives the blocks
 */
export function split(recording: Recording, x: Value, count: number, made: Value[]): Value[] {
  const name = 'split'
  checkArguments(name, { parts: count }, { parts: integerFrom(1) })
  const columns = (x.shape.at(-1) ?? Number.NaN) / count
  if (!Number.isInteger(columns)) throw shapeError(name, `the columns of x must be divisible by parts ${count}`, x)
  const shape = [...x.shape.slice(0, -1), columns]
  const part = (ops: DenseOps, k: number) => ops.columns(x.tensor, k * columns, columns)
  return inParts(recording, x, { name, count, shape, part, joined: (ops, parts) => ops.concat(parts) }, made)
}

/** Passes back one gradient for all parts: with `slice`, each part would have a gradient of the whole tensor. */
function inParts(recording: Recording, x: Value, { name, count, shape, part, joined }: Parting, made: Value[]) {
  const { ops } = recording.backend
  const results = Array.from({ length: count }, (_, k) => recording.newValue(part(ops, k), x.isDifferentiated, made))
  if (!x.isDifferentiated) return results
  const operations = GradientOperations.of(recording.backend)
  recording.add({
    ...{ name, operands: [x], results, held: [] },
    operandName: () => 'x',
    pass(given) {
      const { result, made: tensors } = operations.run(recording, () =>
        joined(
          operations.ops,
          given.map((gradient): BackendTensor => gradient ?? operations.zeros(shape)),
        ),
      )
      return { gradients: [result], made: tensors }
    },
  })
  return results
}

function shapeError(name: string, rule: string, { shape }: Value) {
  return codedRangeError('ERR_SHAPE', `Cannot ${name} as ${rule}: current shape is [${shape.join(',')}]`, {
    argument: 'x',
    actual: shape,
  })
}
