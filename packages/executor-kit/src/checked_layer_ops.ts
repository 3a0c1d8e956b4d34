import type { LayerOps, TensorLike } from '@cudnn-rnn/backend'
import { checkIsObject, checkOptionNames } from '@cudnn-rnn/canonical'
import { checkHyperparameter } from './dense_arguments.js'
import type { DenseKernels } from './dense_kernels.js'
import { checkOwnTensor, checkOwnTensors, type ExecutorMemory, type VersionedTensor } from './executor_memory.js'
import {
  checkInteger,
  checkLengthValues,
  checkOneOf,
  checkRows,
  checkSameCount,
  checkSequence,
  checkTensorList,
  completeActivation,
  completePool,
  dropoutMask,
} from './layer_arguments.js'
import type { ActivationName, ElementLoss } from './operation_options.js'
import {
  type ActivationOptions,
  type DropoutOptions,
  ELEMENT_LOSSES,
  type LayerNormOptions,
  type PoolOptions,
} from './operation_options.js'
import type { Attention, AttentionGradients, ElementLossResult, LayerNormGradients } from './operation_results.js'
import { checkIsTensor, checkTensor } from './tensor_arguments.js'

/** The operations of layers: everything is checked here, then one of the executor's kernels computes. */
export class CheckedLayerOps<Own extends VersionedTensor> implements LayerOps {
  protected readonly memory: ExecutorMemory<Own>
  protected readonly kernels: DenseKernels<Own>

  constructor(memory: ExecutorMemory<Own>, kernels: DenseKernels<Own>) {
    this.memory = memory
    this.kernels = kernels
  }

  activate(input: TensorLike, activation: ActivationName, options: ActivationOptions = {}): Own {
    const action = 'apply an activation'
    const complete = completeActivation(action, activation, options)
    const operands = this.taken(action, { input })
    return this.kernels.activate(operands, complete, checkRows(action, this.memory.dtype, 'input', operands.input))
  }

  activationGradient(
    output: TensorLike,
    outputGradient: TensorLike,
    activation: ActivationName,
    options: ActivationOptions = {},
  ): Own {
    const action = "compute an activation's gradient"
    const complete = completeActivation(action, activation, options)
    const operands = this.taken(action, { output, outputGradient })
    const sizes = checkRows(action, this.memory.dtype, 'output', operands.output)
    this.#checkLike(action, 'outputGradient', operands.outputGradient, operands.output)
    return this.kernels.activationGradient(operands, complete, sizes)
  }

  multiply(a: TensorLike, b: TensorLike): Own {
    const action = 'multiply element by element'
    const operands = this.taken(action, { a, b })
    checkTensor(action, 'a', operands.a, { dtype: this.memory.dtype })
    this.#checkLike(action, 'b', operands.b, operands.a)
    return this.kernels.multiply(operands)
  }

  dropout(input: TensorLike, options: DropoutOptions): Own {
    const action = 'apply dropout'
    checkIsObject(action, 'options', options)
    const mask = dropoutMask(options)
    const operands = this.taken(action, { input })
    checkTensor(action, 'input', operands.input, { dtype: this.memory.dtype })
    return this.kernels.dropout(operands, mask)
  }

  layerNorm(input: TensorLike, gamma: TensorLike, beta: TensorLike, options: LayerNormOptions): Own {
    const action = 'normalize a layer'
    const epsilon = completeLayerNorm(action, options)
    const operands = this.taken(action, { input, gamma, beta })
    const sizes = checkRows(action, this.memory.dtype, 'input', operands.input)
    for (const name of ['gamma', 'beta'] as const) this.#checkVector(action, name, operands[name], sizes.columns)
    return this.kernels.layerNorm(operands, sizes, epsilon)
  }

  layerNormGradients(
    input: TensorLike,
    gamma: TensorLike,
    outputGradient: TensorLike,
    options: LayerNormOptions,
  ): LayerNormGradients {
    const action = 'compute the gradients of a normalized layer'
    const epsilon = completeLayerNorm(action, options)
    const operands = this.taken(action, { input, gamma, outputGradient })
    const sizes = checkRows(action, this.memory.dtype, 'input', operands.input)
    this.#checkVector(action, 'gamma', operands.gamma, sizes.columns)
    this.#checkLike(action, 'outputGradient', operands.outputGradient, operands.input)
    return this.kernels.layerNormGradients(operands, sizes, epsilon)
  }

  concat(inputs: readonly TensorLike[]): Own {
    const action = 'concatenate'
    checkTensorList(action, inputs)
    const { dtype } = this.memory
    const taken = Array.from(inputs, (input, index) => this.takenOne(action, `inputs[${index}]`, input))
    const { rows } = checkRows(action, dtype, 'inputs[0]', taken[0])
    const leading = taken[0].shape.slice(0, -1)
    for (const [index, input] of taken.entries()) {
      checkTensor(action, `inputs[${index}]`, input, { dtype, shape: [...leading, 'E'] })
    }
    const columns = taken.reduce((sum, { shape }) => sum + shape[shape.length - 1], 0)
    return this.kernels.concat(taken, [...leading, columns], { rows, columns })
  }

  reshape(input: TensorLike, shape: readonly number[]): Own {
    const action = 'reshape'
    const taken = this.takenOne(action, 'input', input)
    const { rows, columns } = checkRows(action, this.memory.dtype, 'input', taken)
    checkSameCount(action, taken.shape, shape)
    return this.kernels.concat([taken], shape, { rows, columns })
  }

  columns(input: TensorLike, begin: number, count: number): Own {
    const action = 'take columns'
    const operands = this.taken(action, { input })
    const { rows, columns } = checkRows(action, this.memory.dtype, 'input', operands.input)
    checkInteger(action, 'begin', begin, [0, columns])
    checkInteger(action, 'count', count, [0, columns - begin])
    return this.kernels.columns(operands, { begin, columns, rows }, count)
  }

  reverseSequence(input: TensorLike, lengths: TensorLike | null): Own {
    const action = 'reverse a sequence'
    const operands = this.#sequence(action, { input, lengths: lengths ?? undefined })
    return this.kernels.reverseSequence(operands, checkSequence(action, this.memory.dtype, operands.input, undefined))
  }

  poolSequence(input: TensorLike, lengths: TensorLike | null, options: PoolOptions): Own {
    const action = 'pool a sequence'
    checkIsObject(action, 'options', options)
    const operands = this.#sequence(action, { input, lengths: lengths ?? undefined })
    const sizes = checkSequence(action, this.memory.dtype, operands.input, undefined)
    return this.kernels.poolSequence(operands, sizes, completePool(action, options, sizes.columns))
  }

  poolSequenceGradient(
    input: TensorLike,
    lengths: TensorLike | null,
    outputGradient: TensorLike,
    options: PoolOptions,
  ): Own {
    const action = "compute a pooling's gradient"
    checkIsObject(action, 'options', options)
    const operands = this.#sequence(action, { input, lengths: lengths ?? undefined, outputGradient })
    const { dtype } = this.memory
    const sizes = checkSequence(action, dtype, operands.input, undefined)
    const shape = [sizes.batch, sizes.columns]
    checkTensor(action, 'outputGradient', operands.outputGradient, { dtype, shape })
    return this.kernels.poolSequenceGradient(operands, sizes, completePool(action, options, sizes.columns))
  }

  attend(input: TensorLike, scores: TensorLike, lengths: TensorLike | null): Attention {
    const action = 'attend to a sequence'
    const operands = this.#sequence(action, { input, scores, lengths: lengths ?? undefined })
    const { dtype } = this.memory
    const sizes = checkSequence(action, dtype, operands.input, undefined)
    checkTensor(action, 'scores', operands.scores, { dtype, shape: [sizes.time, sizes.batch, 1] })
    return this.kernels.attend(operands, sizes)
  }

  attendGradients(input: TensorLike, weights: TensorLike, outputGradient: TensorLike): AttentionGradients {
    const action = 'compute the gradients of attention'
    const operands = this.taken(action, { input, weights, outputGradient })
    const { dtype } = this.memory
    const sizes = checkSequence(action, dtype, operands.input, undefined)
    checkTensor(action, 'weights', operands.weights, { dtype, shape: [sizes.time, sizes.batch, 1] })
    checkTensor(action, 'outputGradient', operands.outputGradient, { dtype, shape: [sizes.batch, sizes.columns] })
    return this.kernels.attendGradients(operands, sizes)
  }

  elementLoss(
    predictions: TensorLike,
    targets: TensorLike,
    loss: ElementLoss,
    weights?: TensorLike,
  ): ElementLossResult {
    const action = 'compute a loss'
    checkOneOf(action, 'loss', loss, ELEMENT_LOSSES)
    const operands = this.taken(action, { predictions, targets, weights })
    const { dtype } = this.memory
    const sizes = checkRows(action, dtype, 'predictions', operands.predictions)
    this.#checkLike(action, 'targets', operands.targets, operands.predictions)
    if (operands.weights !== undefined) {
      const shape = operands.predictions.shape.slice(0, -1)
      checkTensor(action, 'weights', operands.weights, { dtype, shape })
    }
    return this.kernels.elementLoss(operands, loss, sizes)
  }

  /**
   * The operands as they are now, each read from its caller once: live, and the executor's own where they are backend
   * tensors.
   */
  protected taken<Operands extends Readonly<Record<string, TensorLike | undefined>>>(
    action: string,
    operands: Operands,
  ): Operands {
    this.memory.life.check(action)
    checkOwnTensors(this.memory, action, operands)
    const taken: Record<string, TensorLike | undefined> = {}
    for (const name in operands) {
      const operand = operands[name]
      taken[name] = operand === undefined ? undefined : checkIsTensor(action, name, operand)
    }
    return taken as Operands
  }

  /** As {@link taken}, for one operand. */
  protected takenOne<Operand extends TensorLike>(action: string, name: string, operand: Operand): Operand {
    this.memory.life.check(action)
    checkOwnTensor(this.memory, action, name, operand)
    return checkIsTensor(action, name, operand)
  }

  /** As {@link taken}, with the lengths of `input` checked as far as they can be known now. */
  #sequence<
    Operands extends { readonly input: TensorLike; readonly lengths: TensorLike | undefined } & Readonly<
      Record<string, TensorLike | undefined>
    >,
  >(action: string, given: Operands): Operands {
    const operands = this.taken(action, given)
    const { lengths } = operands
    const { time } = checkSequence(action, this.memory.dtype, operands.input, lengths)
    if (lengths === undefined) return operands
    const data = this.kernels.readIds(lengths)
    if (data === undefined) return operands
    checkLengthValues(action, data, time)
    return { ...operands, lengths: { data, shape: lengths.shape } }
  }

  #checkVector(action: string, name: string, vector: TensorLike, columns: number): void {
    checkTensor(action, name, vector, { dtype: this.memory.dtype, shape: [columns] })
  }

  #checkLike(action: string, name: string, tensor: TensorLike, like: TensorLike): void {
    checkTensor(action, name, tensor, { dtype: this.memory.dtype, shape: like.shape })
  }
}

function completeLayerNorm(action: string, options: LayerNormOptions): number {
  checkIsObject(action, 'options', options)
  checkOptionNames(action, options, ['epsilon'])
  checkHyperparameter(action, 'epsilon', options.epsilon, { minimum: 0 })
  return options.epsilon
}
