import type { FloatDType, TensorLike } from '@cudnn-rnn/backend'
import { describeValue, elementCount } from '@cudnn-rnn/canonical'
import { codedRangeError } from './coded_error.js'
import { checkIsTensor, checkRule, checkShape, checkTensor } from './tensor_arguments.js'

/** Sizes of a linear layer's operands: N rows, I inputs, O outputs. */
export interface LinearSizes {
  readonly rows: number
  readonly inputs: number
  readonly outputs: number
}

/**
 * Checks input [...,I], kernel [I,O] and bias [O]; throws as `checkTensor`.
 *
 * @example
 * ```ts
 * import { checkLinear } from '@cudnn-rnn/executor-kit'
 *
 * const input = { data: new Float32Array(6), shape: [2, 3] }
 * const kernel = { data: new Float32Array(12), shape: [3, 4] }
 * const bias = { data: new Float32Array(4), shape: [4] }
 * console.log(checkLinear('float32', input, kernel, bias)) // { rows: 2, inputs: 3, outputs: 4 }
 * ```
 */
export function checkLinear(dtype: FloatDType, input: TensorLike, kernel: TensorLike, bias: TensorLike): LinearSizes {
  const sizes = checkProduct(dtype, input, kernel)
  checkTensor('apply linear', 'bias', bias, { dtype, shape: [sizes.outputs] })
  return sizes
}

function checkProduct(dtype: FloatDType, input: TensorLike, kernel: TensorLike): LinearSizes {
  const action = 'apply linear'
  checkTensor(action, 'kernel', kernel, { dtype, shape: ['I', 'O'] })
  const [inputs, outputs] = kernel.shape as [number, number]
  checkTensor(action, 'input', input, { dtype })
  const leading = input.shape.slice(0, -1)
  checkShape(action, 'input', input.shape, [...leading.map((_, axis) => `N${axis + 1}`), inputs])
  return { rows: elementCount(leading), inputs, outputs }
}

/**
 * Checks input, kernel and outputGradient [...,O].
 *
 * @example
 * ```ts
 * import { checkLinearGradients } from '@cudnn-rnn/executor-kit'
 *
 * const input = { data: new Float32Array(6), shape: [2, 3] }
 * const kernel = { data: new Float32Array(12), shape: [3, 4] }
 * const outputGradient = { data: new Float32Array(8), shape: [2, 4] }
 * console.log(checkLinearGradients('float32', input, kernel, outputGradient)) // { rows: 2, inputs: 3, outputs: 4 }
 * ```
 */
export function checkLinearGradients(
  dtype: FloatDType,
  input: TensorLike,
  kernel: TensorLike,
  outputGradient: TensorLike,
): LinearSizes {
  const sizes = checkProduct(dtype, input, kernel)
  const shape = [...input.shape.slice(0, -1), sizes.outputs]
  checkTensor('apply linear', 'outputGradient', outputGradient, { dtype, shape })
  return sizes
}

/**
 * Checks table [V,E] and ids [...] (int32), whose values are checked where they can be read. Throws as `checkTensor`.
 *
 * @example
 * ```ts
 * import { checkEmbedding } from '@cudnn-rnn/executor-kit'
 *
 * const table = { data: new Float32Array(10 * 4), shape: [10, 4] } // [V,E]
 * console.log(checkEmbedding('float32', table, { data: Int32Array.of(1, 2), shape: [2] }))
 * // { vocabulary: 10, columns: 4 }
 * ```
 */
export function checkEmbedding(
  dtype: FloatDType,
  table: TensorLike,
  ids: TensorLike,
): { readonly vocabulary: number; readonly columns: number } {
  const action = 'look up embeddings'
  checkTensor(action, 'table', table, { dtype, shape: ['V', 'E'] })
  checkTensor(action, 'ids', ids, { dtype: 'int32' })
  const [vocabulary, columns] = table.shape as [number, number]
  return { vocabulary, columns }
}

/**
 * Checks ids [...] (int32) and outputGradient [...,E]; returns E. Throws as `checkTensor`.
 *
 * @example
 * ```ts
 * import { checkEmbeddingGradient } from '@cudnn-rnn/executor-kit'
 *
 * const ids = { data: Int32Array.of(1, 2), shape: [2] }
 * console.log(checkEmbeddingGradient('float32', ids, { data: new Float32Array(8), shape: [2, 4] })) // 4
 * ```
 */
export function checkEmbeddingGradient(dtype: FloatDType, ids: TensorLike, outputGradient: TensorLike): number {
  const action = 'add up the embedding gradient'
  checkTensor(action, 'outputGradient', outputGradient, { dtype })
  checkTensor(action, 'ids', ids, { dtype: 'int32' })
  checkShape(action, 'outputGradient', outputGradient.shape, [...ids.shape, 'E'])
  return outputGradient.shape[outputGradient.shape.length - 1]
}

/**
 * Throws RangeError `ERR_ID_OUT_OF_RANGE`, naming the position, unless every id is in 0..count-1.
 *
 * @example
 * ```ts
 * import { checkIdValues } from '@cudnn-rnn/executor-kit'
 * import { hasErrorCode } from '@cudnn-rnn/rnn'
 *
 * try {
 *   checkIdValues('look up ids', 'ids', Int32Array.of(1, 10), 10)
 * } catch (error) {
 *   console.log(hasErrorCode(error, 'ERR_ID_OUT_OF_RANGE')) // true
 * }
 * ```
 */
export function checkIdValues(action: string, name: string, ids: Int32Array, count: number): void {
  for (let index = 0; index < ids.length; index++) {
    const id = ids[index]
    if (id >= 0 && id < count) continue
    throw codedRangeError(
      'ERR_ID_OUT_OF_RANGE',
      `Cannot ${action} as ${name}[${index}] must be in 0..${count - 1}: current value is ${id}`,
      { argument: name, index, value: id, maximum: count - 1 },
    )
  }
}

/**
 * Checks logits [...,V], labels [...] and weights [...]; returns N and V. Throws as `checkTensor`.
 *
 * @example
 * ```ts
 * import { checkSoftmaxCrossEntropy } from '@cudnn-rnn/executor-kit'
 *
 * const logits = { data: new Float32Array(6), shape: [2, 3] } // [N,V]
 * console.log(checkSoftmaxCrossEntropy('float32', logits, { data: Int32Array.of(0, 2), shape: [2] }))
 * // { rows: 2, classes: 3 }
 * ```
 */
export function checkSoftmaxCrossEntropy(
  dtype: FloatDType,
  logits: TensorLike,
  labels: TensorLike,
  weights?: TensorLike,
): { readonly rows: number; readonly classes: number } {
  const action = 'compute softmax cross-entropy'
  checkTensor(action, 'logits', logits, { dtype })
  if (logits.shape.length === 0) checkShape(action, 'logits', logits.shape, ['…', 'V'])
  const rowShape = logits.shape.slice(0, -1)
  checkTensor(action, 'labels', labels, { dtype: 'int32', shape: rowShape })
  if (weights !== undefined) checkTensor(action, 'weights', weights, { dtype, shape: rowShape })
  return { rows: elementCount(rowShape), classes: logits.shape[logits.shape.length - 1] }
}

/**
 * Checks that the operands of an elementwise update have one dtype, one shape and one opaque layout.
 *
 * @example
 * ```ts
 * import { checkUpdate, HostMemory } from '@cudnn-rnn/executor-kit'
 * import { hasErrorCode } from '@cudnn-rnn/rnn'
 *
 * const memory = new HostMemory('float32')
 * try {
 *   checkUpdate('accumulate', 'float32', { variable: memory.zeros([2]), source: memory.zeros([3]) })
 * } catch (error) {
 *   console.log(hasErrorCode(error, 'ERR_SHAPE')) // true
 * }
 * ```
 */
export function checkUpdate(action: string, dtype: FloatDType, operands: Readonly<Record<string, TensorLike>>): void {
  const names = Object.keys(operands)
  const tensors = names.map((name) => checkIsTensor(action, name, operands[name]))
  checkAlike(action, dtype, names, tensors)
}

/** As {@link checkUpdate}, for tensors that `checkIsTensor` returned. */
export function checkAlike(
  action: string,
  dtype: FloatDType,
  names: readonly string[],
  tensors: readonly TensorLike[],
): void {
  const [first] = tensors
  if (first === undefined) return
  const rule = { dtype, shape: first.shape, layout: 'layout' in first ? first.layout : undefined }
  for (let k = 0; k < tensors.length; k++) checkRule(action, names[k], tensors[k], rule)
}

/**
 * Throws RangeError `ERR_HYPERPARAMETER` unless `value` is finite and within the bounds.
 *
 * @example
 * ```ts
 * import { checkHyperparameter } from '@cudnn-rnn/executor-kit'
 * import { hasErrorCode } from '@cudnn-rnn/rnn'
 *
 * try {
 *   checkHyperparameter('build SGD', 'momentum', 1.5, { minimum: 0, below: 1 })
 * } catch (error) {
 *   console.log(hasErrorCode(error, 'ERR_HYPERPARAMETER')) // true
 * }
 * ```
 */
export function checkHyperparameter(
  action: string,
  name: string,
  value: number,
  { minimum = Number.NEGATIVE_INFINITY, below = Number.POSITIVE_INFINITY } = {},
): void {
  if (Number.isFinite(value) && value >= minimum && value < below) return
  const bounds = [
    minimum > Number.NEGATIVE_INFINITY && `>= ${minimum}`,
    below < Number.POSITIVE_INFINITY && `< ${below}`,
  ]
  const rule = ['a finite number', ...bounds.filter((bound) => bound !== false)].join(' ')
  throw codedRangeError(
    'ERR_HYPERPARAMETER',
    `Cannot ${action} as ${name} must be ${rule}: current value is ${describeValue(value)}`,
    { option: name, value },
  )
}
