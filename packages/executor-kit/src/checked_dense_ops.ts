import {
  type AdagradOptions,
  type AdamOptions,
  type BackendTensor,
  type CtcLossOptions,
  type CtcLossResult,
  type DenseOps,
  isBackendTensor,
  type LinearGradients,
  type MomentumOptions,
  type RmsPropOptions,
  type SoftmaxCrossEntropyResult,
  type TensorLike,
} from '@cudnn-rnn/backend'
import { checkIsObject, codedTypeError, describeValue, type Tensor } from '@cudnn-rnn/canonical'
import { CheckedLayerOps } from './checked_layer_ops.js'
import { checkCtcLoss } from './ctc_problem.js'
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
import { type ExecutorMemory, ownTensor, type VersionedTensor, writableTensor } from './executor_memory.js'
import { completeAdagrad, completeAdam, completeMomentum, completeRmsProp } from './optimizer_options.js'
import type { OptimizerUpdate } from './optimizer_update.js'
import { checkDimensions, checkTensor } from './tensor_arguments.js'

/** The dense operations of an executor: everything is checked here, then one of its kernels computes. */
export class CheckedDenseOps<Own extends VersionedTensor> extends CheckedLayerOps<Own> implements DenseOps {
  readonly ctcLoss?: NonNullable<DenseOps['ctcLoss']>

  constructor(memory: ExecutorMemory<Own>, kernels: DenseKernels<Own>) {
    super(memory, kernels)
    if (kernels.ctcLoss !== undefined) this.ctcLoss = (...args) => this.#ctcLoss(...args)
  }

  linear(input: TensorLike, kernel: TensorLike, bias: TensorLike): Own {
    const action = 'apply linear'
    const operands = this.taken(action, { input, kernel, bias })
    const sizes = checkLinear(this.memory.dtype, operands.input, operands.kernel, operands.bias)
    return this.kernels.linear(operands, sizes)
  }

  linearGradients(input: TensorLike, kernel: TensorLike, outputGradient: TensorLike): LinearGradients {
    const action = 'apply linear'
    const operands = this.taken(action, { input, kernel, outputGradient })
    const sizes = checkLinearGradients(this.memory.dtype, operands.input, operands.kernel, operands.outputGradient)
    return this.kernels.linearGradients(operands, sizes)
  }

  embedding(table: TensorLike, ids: TensorLike): Own {
    const action = 'look up embeddings'
    const taken = this.taken(action, { table, ids })
    const { vocabulary, columns } = checkEmbedding(this.memory.dtype, taken.table, taken.ids)
    const operands = { table: taken.table, ids: this.#ids(action, 'ids', taken.ids, vocabulary) }
    return this.kernels.embedding(operands, columns)
  }

  embeddingGradient(vocabulary: number, ids: TensorLike, outputGradient: TensorLike): Own {
    const action = 'add up the embedding gradient'
    const taken = this.taken(action, { ids, outputGradient })
    const columns = checkEmbeddingGradient(this.memory.dtype, taken.ids, taken.outputGradient)
    checkDimensions(action, [vocabulary, columns])
    const operands = { ...taken, ids: this.#ids(action, 'ids', taken.ids, vocabulary) }
    return this.kernels.embeddingGradient(operands, { vocabulary, columns })
  }

  softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, weights?: TensorLike): SoftmaxCrossEntropyResult {
    const action = 'compute softmax cross-entropy'
    const taken = { ...this.taken(action, { logits, labels }), weights: this.#optional(action, 'weights', weights) }
    const sizes = checkSoftmaxCrossEntropy(this.memory.dtype, taken.logits, taken.labels, taken.weights)
    const operands = { ...taken, labels: this.#ids(action, 'labels', taken.labels, sizes.classes) }
    return this.kernels.softmaxCrossEntropy(operands, sizes)
  }

  #ctcLoss(logits: TensorLike, labels: Tensor<Int32Array>, options: CtcLossOptions): CtcLossResult {
    const operands = this.taken('compute the CTC loss', { logits })
    return this.kernels.ctcLoss!(operands, checkCtcLoss(this.memory.dtype, operands.logits, labels, options))
  }

  globalNorm(tensors: readonly BackendTensor[]): Own {
    return this.kernels.norm(this.#owned('compute the global norm', tensors, false), Number.POSITIVE_INFINITY)
  }

  clipByGlobalNorm(tensors: readonly BackendTensor[], maxNorm: number): Own {
    const action = 'clip by global norm'
    checkHyperparameter(action, 'maxNorm', maxNorm, { minimum: 0 })
    const owned = this.#owned(action, tensors, true)
    const norm = this.kernels.norm(owned, maxNorm)
    for (const tensor of owned) tensor.version++
    return norm
  }

  clipByValue(tensors: readonly BackendTensor[], limit: number): void {
    const action = 'clip by value'
    checkHyperparameter(action, 'limit', limit, { minimum: 0 })
    const owned = this.#owned(action, tensors, true)
    this.kernels.clip(owned, limit)
    for (const tensor of owned) tensor.version++
  }

  assign(variable: BackendTensor, source: TensorLike): void {
    const action = 'assign'
    const taken = this.taken(action, { variable, source })
    const written = writableTensor(this.memory, action, 'variable', taken.variable)
    const { dtype, shape, layout } = written
    checkTensor(action, 'source', taken.source, { dtype, shape, layout })
    this.kernels.assign(written, taken.source)
    written.version++
  }

  accumulate(variable: BackendTensor, source: TensorLike, scale = 1): void {
    const action = 'accumulate'
    checkHyperparameter(action, 'scale', scale)
    this.#update(action, { rule: 'addScaled', scale }, { variable }, { source })
  }

  applySgd(variable: BackendTensor, gradient: TensorLike, options: { readonly learningRate: number }): void {
    const action = 'apply SGD'
    checkIsObject(action, 'options', options)
    const { learningRate } = options
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
    checkIsObject(action, 'options', options)
    const count = this.#count(action, options.step)
    const numbers = completeAdam(action, options, count !== undefined)
    const update = { rule: 'adam', ...numbers, ...(count && { count }) } as const
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
    options: { readonly rate: number; readonly mask?: TensorLike | undefined },
  ): void {
    const action = 'apply weight decay'
    checkIsObject(action, 'options', options)
    const { rate, mask } = options
    checkHyperparameter(action, 'rate', rate, { minimum: 0 })
    this.#update(action, { rule: 'weightDecay', rate }, { variable }, mask === undefined ? {} : { mask })
  }

  /** Checks all operands by their names in the public API, then updates; all of `written` are overwritten. */
  #update(
    action: string,
    update: OptimizerUpdate,
    written: Readonly<Record<string, BackendTensor>>,
    source: Readonly<Record<string, TensorLike>> = {},
  ): void {
    const taken = this.taken(action, { ...written, ...source })
    checkUpdate(action, this.memory.dtype, taken)
    const owned = Object.keys(written).map((name) => writableTensor(this.memory, action, name, taken[name]))
    const [sourceName] = Object.keys(source)
    this.kernels.update(update, owned, sourceName === undefined ? undefined : taken[sourceName])
    for (const tensor of owned) tensor.version++
  }

  /** Ids whose values are in 0..count-1, as far as that can be known now. */
  #ids(action: string, name: string, ids: TensorLike, count: number): TensorLike {
    const data = this.kernels.readIds(ids)
    if (data === undefined) return ids
    checkIdValues(action, name, data, count)
    return { data, shape: ids.shape }
  }

  /** A step that is a tensor of an executor that can read it. */
  #count(action: string, step: number | BackendTensor): Own | undefined {
    if (this.kernels.readsCounts !== true || !isBackendTensor(step)) return undefined
    const own = ownTensor(this.memory, action, 'step', this.taken(action, { step }).step)
    return checkTensor(action, 'step', own, { dtype: this.memory.dtype, shape: [] })
  }

  #owned(action: string, tensors: readonly BackendTensor[], isWritten: boolean): Own[] {
    this.memory.life.check(action)
    if (!Array.isArray(tensors)) {
      throw codedTypeError(
        'ERR_NOT_A_TENSOR',
        `Cannot ${action} as tensors must be an array of backend tensors: current value is ${describeValue(tensors)}`,
        { argument: 'tensors' },
      )
    }
    const { dtype } = this.memory
    return Array.from(tensors as readonly BackendTensor[], (tensor, index) => {
      const name = `tensors[${index}]`
      const taken = this.taken(action, { [name]: tensor })[name]
      const own = (isWritten ? writableTensor : ownTensor)(this.memory, action, name, taken)
      checkTensor(action, name, own, { dtype })
      return own
    })
  }

  #optional(action: string, name: string, operand: TensorLike | undefined): TensorLike | undefined {
    return operand === undefined ? undefined : this.taken(action, { [name]: operand })[name]
  }
}
