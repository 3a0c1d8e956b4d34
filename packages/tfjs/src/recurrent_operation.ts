import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { copyRow } from '@cudnn-rnn/ops/executor'
import type { Tensor, Tensor2D, Tensor3D } from '@tensorflow/tfjs'
import { batchMajor, timeMajor } from './batch_order.js'
import { numStates } from './plan_call.js'
import type { PlannedCell } from './recurrent_layer.js'
import type { Recurrences, SequenceOperands, SequencePass } from './sequence.js'
import type { TensorFlow } from './tensor_flow.js'

/** One cell over a batch of sequences, as tensors. */
export interface CellOperands {
  /** [B,T,I] */
  readonly x: Tensor3D
  /** [B,H] each; null for zeros. */
  readonly states: readonly Tensor2D[] | null
  /** [T,B], in the order of the steps. */
  readonly mask: Uint8Array | null
  /** Steps run from the last to the first. */
  readonly reversed: boolean
  /** The outputs of all steps, in their order; otherwise of the last. */
  readonly returnSequences: boolean
  /** Whether the final states are requested. */
  readonly returnStates: boolean
}

export interface CellResults {
  /** [B,T,H] or [B,H] */
  readonly output: Tensor
  /** [B,H] each; none unless requested. */
  readonly states: readonly Tensor2D[]
}

/** One cell as an operation of TensorFlow.js with its gradient, computed by `recurrences`. */
export function recurrentOperation(
  tf: TensorFlow,
  recurrences: Recurrences,
  cell: PlannedCell,
  operands: CellOperands,
): CellResults {
  const { x, states, mask, reversed, returnSequences, returnStates } = operands
  const [batch, time, inputs] = x.shape
  const sizes = { time, batch, columns: inputs, reversed }
  const { units } = cell.fields
  const count = numStates(cell)
  const outputColumns = (returnSequences ? time : 1) * units
  const columns = outputColumns + (returnStates ? count * units : 0)
  const weights = [cell.fields.kernel, cell.fields.recurrentKernel, cell.fields.bias].flatMap((weight) =>
    weight ? [weight.read()] : [],
  )
  const hasBias = weights.length === 3
  const tensors: Tensor[] = [...weights, ...(states ?? [])]
  let inputGradient: (() => Tensor) | undefined
  // TensorFlow.js requests the gradients of an operation with respect to the inputs that depend on variables, but
  // all gradients of a customGrad together. The gradient with respect to x is a long product, and x is data in many
  // models, so x is the input of a separate operation. Its result [1] is the input of the other one in place of x.
  const link = tf.customGrad(() => ({
    value: tf.tensor([0], [1]),
    gradFunc: () => (inputGradient as () => Tensor)(),
  }))
  // TensorFlow.js passes a function that saves tensors as the last argument.
  const compute = tf.customGrad((...given) => {
    const [, kernel, recurrentKernel, ...others] = given.slice(0, 1 + tensors.length) as Tensor[]
    const values = (tensor: Tensor) => tensor.dataSync<'float32'>()
    const o: SequenceOperands = {
      ...{ time, batch, inputs, units, mask },
      x: timeMajor(values(x), sizes, hasBias),
      kernel: hasBias ? joined(values(kernel), values(others[0])) : values(kernel),
      recurrentKernel: values(recurrentKernel),
      states:
        states === null
          ? Array.from({ length: count }, () => new Float32Array(batch * units))
          : others.slice(-count).map(values),
    }
    let pass: SequencePass | undefined = recurrences.run(cell, o)
    const packed = packResults(o, pass, returnSequences, columns)
    return {
      value: tf.tensor(
        packed,
        returnStates ? [batch, columns] : returnSequences ? [batch, time, units] : [batch, units],
      ),
      gradFunc: (dy: Tensor | Tensor[]) => {
        // Two gradients through one forward come here twice, and the first has overwritten the pass.
        const own = pass ?? recurrences.run(cell, o)
        pass = undefined
        const arrived = unpackGradients(o, values(dy as Tensor), returnSequences, columns, count)
        const gradients = own.backward(arrived.outputs, arrived.states)
        const end = kernel.size
        const results = [gradients.kernel.slice(0, end), gradients.recurrentKernel]
        if (hasBias) results.push(gradients.kernel.slice(end))
        if (states !== null) results.push(...gradients.states)
        const made = (data: Float32Array, shape: number[]) =>
          firstOrder(tf, cell, data, [dy as Tensor, x, ...tensors], shape)
        inputGradient = () => {
          inputGradient = undefined
          return made(batchMajor(gradients.x(), sizes), x.shape)
        }
        return [tf.tensor([0], [1]), ...results.map((data, index) => made(data, tensors[index].shape))]
      },
    }
  })
  const value = compute(link(x), ...tensors)
  if (!returnStates) return { output: value, states: [] }
  const output = tf.slice(value as Tensor2D, [0, 0], [batch, outputColumns])
  return {
    output: returnSequences ? tf.reshape(output, [batch, time, units]) : output,
    states: Array.from({ length: count }, (_, k) =>
      tf.slice(value as Tensor2D, [0, outputColumns + k * units], [batch, units]),
    ),
  }
}

/** The elements of `first`, then of `second`. */
function joined(first: Float32Array, second: Float32Array): Float32Array {
  const result = new Float32Array(first.length + second.length)
  result.set(first)
  result.set(second, first.length)
  return result
}

/** A gradient as a tensor that depends on `inputs` and refuses to be differentiated by them. Otherwise it would be a constant. */
function firstOrder(
  tf: TensorFlow,
  { fields }: PlannedCell,
  data: Float32Array,
  inputs: readonly Tensor[],
  shape: number[],
): Tensor {
  const constant = tf.customGrad(() => ({
    value: tf.tensor(data, shape),
    gradFunc: () => {
      throw codedRangeError(
        'ERR_TFJS_SECOND_ORDER',
        `Cannot compute a gradient of a gradient through ${fields.getClassName()} as accelerated layers have first-order gradients only. Dispose the acceleration first.`,
      )
    },
  }))
  return constant(...inputs)
}

/** Rows [B, columns]: the outputs, of all steps or of the last, then the final states if there is room for them. */
function packResults(
  { time, batch, units }: SequenceOperands,
  { hidden, finalCells }: SequencePass,
  returnSequences: boolean,
  columns: number,
): Float32Array {
  const packed = new Float32Array(batch * columns)
  const last = time * batch
  for (let b = 0; b < batch; b++) {
    let to = b * columns
    const put = (from: Float32Array, row: number) => {
      copyRow(packed, to, from, row * units, units)
      to += units
    }
    for (let t = returnSequences ? 1 : time; t <= time; t++) put(hidden, t * batch + b)
    if (to === (b + 1) * columns) continue
    put(hidden, last + b)
    for (const cells of finalCells) put(cells, b)
  }
  return packed
}

/** The gradients of {@link packResults}'s rows by the outputs [T,B,H] and the final states. */
function unpackGradients(
  { time, batch, units }: SequenceOperands,
  packed: Float32Array,
  returnSequences: boolean,
  columns: number,
  count: number,
) {
  const outputs = new Float32Array(time * batch * units)
  const states = Array.from({ length: count }, () => new Float32Array(batch * units))
  for (let b = 0; b < batch; b++) {
    let from = b * columns
    for (let t = returnSequences ? 0 : time - 1; t < time; t++, from += units) {
      copyRow(outputs, (t * batch + b) * units, packed, from, units)
    }
    if (from === (b + 1) * columns) continue
    for (const state of states) {
      copyRow(state, b * units, packed, from, units)
      from += units
    }
  }
  return { outputs, states }
}
