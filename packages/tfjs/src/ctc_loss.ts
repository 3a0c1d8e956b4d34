import { checkArguments, either, kind, listOf, methods, NUMBERS, OBJECT } from '@cudnn-rnn/canonical/rules'
import { checkCtcLoss, hostCtcLoss, type InfeasibleRows, integerLabels, paddedLabels } from '@cudnn-rnn/ops/executor'
import type { Tensor, Tensor1D, Tensor2D, Tensor3D } from '@tensorflow/tfjs'
import { batchMajor, timeMajor } from './batch_order.js'
import type { TensorFlow } from './tensor_flow.js'

export interface CtcLossOptions {
  /** Time steps of each row, 0..T; default T. */
  readonly logitLengths?: readonly number[] | Int32Array | undefined
  /** Labels of each row of a tensor of labels, 0..S; default S. Arrays of labels have their own lengths. */
  readonly labelLengths?: readonly number[] | Int32Array | undefined
  /** Class of the blank, 0..K-1; default K-1, as in TensorFlow 1 and Keras. */
  readonly blank?: number | undefined
  /** Default true: a label that is repeated without a blank between counts once. */
  readonly mergeRepeated?: boolean | undefined
  /** Loss and gradient of rows that no path spells; default `infinite`, as TensorFlow. */
  readonly infeasible?: InfeasibleRows | undefined
}

const tensorOf = (words: string, rank: number) =>
  kind(words, (value): value is Tensor => {
    const { shape, dataSync } = (value ?? {}) as Partial<Tensor>
    return (
      Array.isArray(shape) && shape.length === rank && shape.every(Number.isInteger) && typeof dataSync === 'function'
    )
  })
const RULES = {
  tf: methods('the module @tensorflow/tfjs', 'customGrad', 'tensor'),
  logits: tensorOf('a tensor [B,T,K]', 3),
  labels: either(listOf(NUMBERS), tensorOf('a tensor [B,S]', 2)),
  options: OBJECT,
}

/**
 * Connectionist temporal classification as a differentiable operation of TensorFlow.js: -ln p(labels | logits) of each row.
 * The equations are in docs/ctc.md, in double precision on the host.
 *
 * @param logits [B,T,K], before the softmax.
 * @param labels one array of classes per row, or a tensor [B,S].
 * @returns [B]
 * @throws TypeError `ERR_INVALID_ARGUMENT`; as `DenseOps.ctcLoss` of `@cudnn-rnn/ops`
 * @example
 * ```ts
 * import { ctcLoss } from '@cudnn-rnn/tfjs'
 * import * as tf from '@tensorflow/tfjs'
 *
 * const logits = tf.variable(tf.randomNormal([2, 6, 4], 0, 1, 'float32', 1) as tf.Tensor3D)
 * const { value } = tf.variableGrads(() => tf.mean(ctcLoss(tf, logits, [[0, 1], [2]])) as tf.Scalar)
 * console.log(value.shape) // []
 * ```
 */
export function ctcLoss(
  tf: Pick<TensorFlow, 'customGrad' | 'tensor'>,
  logits: Tensor3D,
  labels: readonly (readonly number[])[] | Tensor2D,
  options: CtcLossOptions = {},
): Tensor1D {
  const action = 'compute the CTC loss'
  checkArguments(action, { tf, logits, labels, options }, RULES)
  const [batch, time, classes] = logits.shape
  const { labelLengths, logitLengths = new Int32Array(batch).fill(time), blank = classes - 1, ...rest } = options
  // A tensor of TensorFlow.js has float32 elements unless its type is stated.
  const classesOf = (given: Tensor2D) => ({
    data: integerLabels(action, 'labels', given.dataSync()),
    shape: given.shape,
  })
  const padded = paddedLabels(action, Array.isArray(labels) ? labels : classesOf(labels as Tensor2D), labelLengths)
  const sizes = { time, batch, columns: classes, reversed: false }
  const compute = tf.customGrad((given) => {
    const data = timeMajor((given as Tensor3D).dataSync<'float32'>(), sizes)
    const tensor = { data, shape: [time, batch, classes] }
    const problem = checkCtcLoss('float32', tensor, padded.labels, {
      ...rest,
      blank,
      logitLengths,
      labelLengths: padded.labelLengths,
    })
    const gradient = new Float32Array(data.length)
    const losses = new Float32Array(batch)
    hostCtcLoss(gradient, losses, data, problem)
    return {
      value: tf.tensor(losses, [batch]),
      gradFunc: (dy: Tensor | Tensor[]) => {
        const factors = (dy as Tensor).dataSync<'float32'>()
        // A row of factor 0 is left out, infinite and NaN gradients included.
        const scaled = gradient.map((value, k) => {
          const factor = factors[Math.floor(k / classes) % batch]
          return factor === 0 ? 0 : value * factor
        })
        return tf.tensor(batchMajor(scaled, sizes), [batch, time, classes])
      },
    }
  })
  return compute(logits) as Tensor1D
}
