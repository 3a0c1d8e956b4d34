import type {
  AdagradOptions,
  AdamOptions,
  BackendTensor,
  DenseOps,
  FloatDType,
  LinearGradients,
  MomentumOptions,
  RmsPropOptions,
  SoftmaxCrossEntropyResult,
  TensorLike,
} from '@cudnn-rnn/backend'
import {
  checkEmbedding,
  checkEmbeddingGradient,
  checkHyperparameter,
  checkIdValues,
  checkLinear,
  checkLinearGradients,
  checkSoftmaxCrossEntropy,
  checkUpdate,
} from './dense_arguments.js'
import type { DenseKernels } from './dense_kernels.js'
import { checkOwnTensors, type ExecutorMemory, ownTensor, type VersionedTensor } from './executor_memory.js'
import { completeAdagrad, completeAdam, completeMomentum, completeRmsProp } from './optimizer_options.js'
import type { OptimizerUpdate } from './optimizer_update.js'
import { checkDimensions, checkIsTensor, checkTensor } from './tensor_arguments.js'

/** The dense operations of an executor: everything is checked here, then one of its kernels computes. */
export class CheckedDenseOps<Own extends VersionedTensor> implements DenseOps {
  readonly #memory: ExecutorMemory<Own>
  readonly #kernels: DenseKernels<Own>

  constructor(memory: ExecutorMemory<Own>, kernels: DenseKernels<Own>) {
    this.#memory = memory
    this.#kernels = kernels
  }

  linear(input: TensorLike, kernel: TensorLike, bias: TensorLike): Own {
    const action = 'apply linear'
    const sizes = checkLinear(this.#dtype(action), input, kernel, bias)
    return this.#kernels.linear(this.#own(action, { input, kernel, bias }), sizes)
  }

  linearGradients(input: TensorLike, kernel: TensorLike, outputGradient: TensorLike): LinearGradients {
    const action = 'apply linear'
    const sizes = checkLinearGradients(this.#dtype(action), input, kernel, outputGradient)
    return this.#kernels.linearGradients(this.#own(action, { input, kernel, outputGradient }), sizes)
  }

  embedding(table: TensorLike, ids: TensorLike): Own {
    const action = 'look up embeddings'
    const { vocabulary, columns } = checkEmbedding(this.#dtype(action), table, ids)
    this.#own(action, { table, ids })
    return this.#kernels.embedding({ table, ids: this.#ids(action, 'ids', ids, vocabulary) }, columns)
  }

  embeddingGradient(vocabulary: number, ids: TensorLike, outputGradient: TensorLike): Own {
    const action = 'add up the embedding gradient'
    const columns = checkEmbeddingGradient(this.#dtype(action), ids, outputGradient)
    checkDimensions(action, [vocabulary, columns])
    this.#own(action, { ids, outputGradient })
    const operands = { ids: this.#ids(action, 'ids', ids, vocabulary), outputGradient }
    return this.#kernels.embeddingGradient(operands, { vocabulary, columns })
  }

  softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, weights?: TensorLike): SoftmaxCrossEntropyResult {
    const action = 'compute softmax cross-entropy'
    const sizes = checkSoftmaxCrossEntropy(this.#dtype(action), logits, labels, weights)
    this.#own(action, { logits, labels, weights })
    const operands = { logits, labels: this.#ids(action, 'labels', labels, sizes.classes), weights }
    return this.#kernels.softmaxCrossEntropy(operands, sizes)
  }

  globalNorm(tensors: readonly BackendTensor[]): Own {
    return this.#kernels.norm(this.#owned('compute the global norm', tensors), Number.POSITIVE_INFINITY)
  }

  clipByGlobalNorm(tensors: readonly BackendTensor[], maxNorm: number): Own {
    const action = 'clip by global norm'
    checkHyperparameter(action, 'maxNorm', maxNorm, { minimum: 0 })
    const owned = this.#owned(action, tensors)
    const norm = this.#kernels.norm(owned, maxNorm)
    for (const tensor of owned) tensor.version++
    return norm
  }

  clipByValue(tensors: readonly BackendTensor[], limit: number): void {
    const action = 'clip by value'
    checkHyperparameter(action, 'limit', limit, { minimum: 0 })
    const owned = this.#owned(action, tensors)
    this.#kernels.clip(owned, limit)
    for (const tensor of owned) tensor.version++
  }

  assign(variable: BackendTensor, source: TensorLike): void {
    const action = 'assign'
    this.#memory.life.check(action)
    checkIsTensor(action, 'variable', variable)
    const { dtype, shape, layout } = variable
    checkTensor(action, 'source', source, { dtype, shape, layout })
    const written = ownTensor(this.#memory, action, 'variable', variable)
    this.#kernels.assign(written, this.#own(action, { source }).source)
    written.version++
  }

  accumulate(variable: BackendTensor, source: TensorLike, scale = 1): void {
    const action = 'accumulate'
    checkHyperparameter(action, 'scale', scale)
    this.#update(action, { rule: 'addScaled', scale }, { variable }, { source })
  }

  applySgd(variable: BackendTensor, gradient: TensorLike, { learningRate }: { readonly learningRate: number }): void {
    const action = 'apply SGD'
    checkHyperparameter(action, 'learningRate', learningRate, { minimum: 0 })
    this.#update(action, { rule: 'addScaled', scale: -learningRate }, { variable }, { gradient })
  }

  applyMomentum(
    variable: BackendTensor,
    velocity: BackendTensor,
    gradient: TensorLike,
    options: MomentumOptions,
  ): void {
    const action = 'apply momentum'
    const update = { rule: 'momentum', ...completeMomentum(action, options) } as const
    this.#update(action, update, { variable, velocity }, { gradient })
  }

  applyAdam(
    variable: BackendTensor,
    firstMoment: BackendTensor,
    secondMoment: BackendTensor,
    gradient: TensorLike,
    options: AdamOptions,
  ): void {
    const action = 'apply Adam'
    const update = { rule: 'adam', ...completeAdam(action, options) } as const
    this.#update(action, update, { variable, firstMoment, secondMoment }, { gradient })
  }

  applyRmsProp(
    variable: BackendTensor,
    meanSquare: BackendTensor,
    velocity: BackendTensor,
    gradient: TensorLike,
    options: RmsPropOptions,
  ): void {
    const action = 'apply RMSProp'
    const update = { rule: 'rmsProp', ...completeRmsProp(action, options) } as const
    this.#update(action, update, { variable, meanSquare, velocity }, { gradient })
  }

  applyAdagrad(
    variable: BackendTensor,
    sumOfSquares: BackendTensor,
    gradient: TensorLike,
    options: AdagradOptions,
  ): void {
    const action = 'apply Adagrad'
    const update = { rule: 'adagrad', ...completeAdagrad(action, options) } as const
    this.#update(action, update, { variable, sumOfSquares }, { gradient })
  }

  applyWeightDecay(
    variable: BackendTensor,
    { rate, mask }: { readonly rate: number; readonly mask?: TensorLike | undefined },
  ): void {
    const action = 'apply weight decay'
    checkHyperparameter(action, 'rate', rate, { minimum: 0 })
    this.#update(action, { rule: 'weightDecay', rate }, { variable }, mask && { mask })
  }

  /** Checks all operands by their names in the public API, then updates; all of `written` are overwritten. */
  #update(
    action: string,
    update: OptimizerUpdate,
    written: Readonly<Record<string, BackendTensor>>,
    source: Readonly<Record<string, TensorLike>> = {},
  ): void {
    checkUpdate(action, this.#dtype(action), { ...written, ...source })
    const owned = Object.entries(written).map(([name, tensor]) => ownTensor(this.#memory, action, name, tensor))
    this.#kernels.update(update, owned, Object.values(this.#own(action, source))[0])
    for (const tensor of owned) tensor.version++
  }

  /** Ids whose values are in 0..count-1, as far as that can be known now. */
  #ids(action: string, name: string, ids: TensorLike, count: number): TensorLike {
    const data = this.#kernels.readIds(ids)
    if (data === undefined) return ids
    checkIdValues(action, name, data, count)
    return { data, shape: ids.shape }
  }

  #owned(action: string, tensors: readonly BackendTensor[]): Own[] {
    const dtype = this.#dtype(action)
    return tensors.map((tensor, index) => {
      const name = `tensors[${index}]`
      checkTensor(action, name, tensor, { dtype })
      return ownTensor(this.#memory, action, name, tensor)
    })
  }

  #own<Operands extends Readonly<Record<string, TensorLike | undefined>>>(
    action: string,
    operands: Operands,
  ): Operands {
    checkOwnTensors(this.#memory, action, operands)
    return operands
  }

  /** The executor's floating type, while the executor lives. */
  #dtype(action: string): FloatDType {
    this.#memory.life.check(action)
    return this.#memory.dtype
  }
}
