import { describeValue, type Tensor } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import { type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { checkTensor, type GradientTape, isValue, type Value } from '@cudnn-rnn/ops/executor'

export type LayerGradients = {
  /** Undefined for class ids, which have none. */
  readonly input: BackendTensor | undefined
  /** In the order of the layer's variables. */
  readonly variables: readonly BackendTensor[]
}

/** The input of a pass: a value of its tape, or a tensor that no gradient reaches, such as class ids. */
export type LayerInput = Value | TensorLike

/** The result of a layer's forward that is more than its output. */
export interface Forwarded {
  readonly output: Value
  /** Lengths of the output's rows if the layer finds padding itself; otherwise the pass's lengths go on. */
  readonly lengths?: Int32Array | undefined
  /** The outputs of a model by their names. */
  readonly outputs?: Readonly<Record<string, Value>> | undefined
  /** States, if the pass keeps them. */
  readonly states?: readonly Value[] | undefined
}

/**
 * The result of a forward in its long form.
 *
 * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_NOT_AWAITED`; RangeError `ERR_SECOND_ORDER`, unless its output is a value of the tape
 */
export function forwardedOf({ recording }: GradientTape, result: Value | Forwarded): Forwarded {
  const isLong = !isValue(result) && isValue((result as Forwarded | undefined)?.output)
  const output = recording.result('end a tape', isLong ? result.output : result)
  if (!isLong) return { output }
  const { lengths, outputs, states } = result as Forwarded
  return { output, lengths, outputs, states }
}

export function lengthsOperand(lengths: Int32Array | null): Tensor<Int32Array> | null {
  return lengths && { data: lengths, shape: [lengths.length] }
}

/** A tensor in host memory: itself, or read from its executor. */
export async function hostTensor(tensor: LayerInput): Promise<Tensor> {
  return 'read' in tensor ? await tensor.read() : tensor
}

/**
 * A tensor of floating numbers in host memory.
 *
 * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`; RangeError `ERR_SHAPE`
 */
export function checkedHostTensor<Given extends Tensor>(action: string, name: string, tensor: Given): Given {
  if (isBackendTensor(tensor)) {
    throw codedTypeError(
      'ERR_NOT_A_TENSOR',
      `Cannot ${action} as ${name} must be a tensor of the host: current value is ${describeValue(tensor)}`,
    )
  }
  const data: unknown = (tensor as Given | undefined)?.data
  return checkTensor(action, name, tensor, { dtype: data instanceof Float64Array ? 'float64' : 'float32' })
}
