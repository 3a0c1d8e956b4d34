import type { BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import { type GradientTape, Value } from '@cudnn-rnn/ops/executor'
import type { Tensor } from '@cudnn-rnn/canonical'

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
  const isLong = !(result instanceof Value) && (result as Forwarded | undefined)?.output instanceof Value
  const output = recording.result('end a tape', isLong ? result.output : result)
  if (!isLong) return { output }
  const { lengths, outputs, states } = result as Forwarded
  return { output, lengths, outputs, states }
}

export function lengthsOperand(lengths: Int32Array | null): Tensor<Int32Array> | null {
  return lengths && { data: lengths, shape: [lengths.length] }
}
