import {
  type BackendTensor,
  type DenseOps,
  isBackendTensor,
  type OptimizerOptions,
  type OptimizerRule,
  type OptimizerSlots,
  type TensorLike,
} from '@cudnn-rnn/backend'
import { checkIsObject, describeValue } from '@cudnn-rnn/canonical'
import { CheckedLayerOps } from './checked_layer_ops.js'
import { codedTypeError } from './coded_error.js'
import { checkCtcLoss } from './ctc_problem.js'
import {
  checkAlike,
  checkEmbedding,
  checkEmbeddingGradient,
  checkHyperparameter,
  checkIdValues,
  checkLinear,
  checkLinearGradients,
  checkSoftmaxCrossEntropy,
} from './dense_arguments.js'
import type { DenseKernels } from './dense_kernels.js'
import {
  checkOwnTensor,
  type ExecutorMemory,
  ownTensor,
  type VersionedTensor,
  writableTensor,
} from './executor_memory.js'
import type { LinearGradients, SoftmaxCrossEntropyResult } from './operation_results.js'
import { checkRuleArguments, completeUpdate, type OptimizerUpdate } from './optimizer_update.js'
import { checkPhasedGate, completePhasedGate } from './phased_gate_arguments.js'
import { checkDimensions, checkIsTensor, checkRule, checkTensor } from './tensor_arguments.js'

/**
 * The dense operations of an executor: everything is checked here, then one of its kernels computes.
 *
 * @example
 * ```ts
 * import { CheckedDenseOps } from '@cudnn-rnn/executor-kit'
 * import { hasErrorCode } from '@cudnn-rnn/rnn'
 * import { openReferenceBackend } from '@cudnn-rnn/rnn/executors'
 *
 * const backend = openReferenceBackend()
 * console.log(backend.ops instanceof CheckedDenseOps) // true
 * try {
 *   backend.ops.multiply(backend.zeros([2]), backend.zeros([3]))
 * } catch (error) {
 *   console.log(hasErrorCode(error, 'ERR_SHAPE')) // true
 * }
 * ```
 */
export class CheckedDenseOps<Own extends VersionedTensor> extends CheckedLayerOps<Own> implements DenseOps {
  readonly ctcLoss?: NonNullable<DenseOps['ctcLoss']>
  readonly phasedGate?: NonNullable<DenseOps['phasedGate']>
  readonly phasedGateGradients?: NonNullable<DenseOps['phasedGateGradients']>

  constructor(memory: ExecutorMemory<Own>, kernels: DenseKernels<Own>) {
    super(memory, kernels)
    const ctcLoss = kernels.ctcLoss?.bind(kernels)
    if (ctcLoss !== undefined) {
      this.ctcLoss = (logits, labels, options) => {
        const operands = this.taken('compute the CTC loss', { logits })
        return ctcLoss(operands, checkCtcLoss(this.memory.dtype, operands.logits, labels, options))
      }
    }
    const phasedGate = kernels.phasedGate?.bind(kernels)
    if (phasedGate !== undefined) {
      this.phasedGate = (times, { period, phase, ratioOn }, options) => {
        const action = 'open phased gates'
        const leak = completePhasedGate(action, options)
        const operands = this.taken(action, { times, period, phase, ratioOn })
        return phasedGate(operands, checkPhasedGate(action, memory.dtype, operands), leak)
      }
    }
    const phasedGateGradients = kernels.phasedGateGradients?.bind(kernels)
    if (phasedGateGradients !== undefined) {
      this.phasedGateGradients = (times, { period, phase, ratioOn }, outputGradient, options) => {
        const action = 'compute the gradients of phased gates'
        const leak = completePhasedGate(action, options)
        const operands = this.taken(action, { times, period, phase, ratioOn, outputGradient })
        const sizes = checkPhasedGate(action, memory.dtype, operands)
        const shape = [sizes.batch, sizes.units]
        checkTensor(action, 'outputGradient', operands.outputGradient, { dtype: memory.dtype, shape })
        return phasedGateGradients(operands, sizes, leak)
      }
    }
  }

  linear(input: TensorLike, kernel: TensorLike, bias: TensorLike): Own {
    const action = 'apply linear'
    const operands = {
      input: this.takenOne(action, 'input', input),
      kernel: this.takenOne(action, 'kernel', kernel),
      bias: this.takenOne(action, 'bias', bias),
    }
    const sizes = checkLinear(this.memory.dtype, operands.input, operands.kernel, operands.bias)
    return this.kernels.linear(operands, sizes)
  }

  linearGradients(input: TensorLike, kernel: TensorLike, outputGradient: TensorLike): LinearGradients {
    const action = 'apply linear'
    const operands = {
      input: this.takenOne(action, 'input', input),
      kernel: this.takenOne(action, 'kernel', kernel),
      outputGradient: this.takenOne(action, 'outputGradient', outputGradient),
    }
    const sizes = checkLinearGradients(this.memory.dtype, operands.input, operands.kernel, operands.outputGradient)
    return this.kernels.linearGradients(operands, sizes)
  }

  embedding(table: TensorLike, ids: TensorLike): Own {
    const action = 'look up embeddings'
    const [from, at] = [this.takenOne(action, 'table', table), this.takenOne(action, 'ids', ids)]
    const { vocabulary, columns } = checkEmbedding(this.memory.dtype, from, at)
    return this.kernels.embedding({ table: from, ids: this.#ids(action, 'ids', at, vocabulary) }, columns)
  }

  embeddingGradient(vocabulary: number, ids: TensorLike, outputGradient: TensorLike): Own {
    const action = 'add up the embedding gradient'
    const at = this.takenOne(action, 'ids', ids)
    const rows = this.takenOne(action, 'outputGradient', outputGradient)
    const columns = checkEmbeddingGradient(this.memory.dtype, at, rows)
    checkDimensions(action, [vocabulary, columns])
    const operands = { ids: this.#ids(action, 'ids', at, vocabulary), outputGradient: rows }
    return this.kernels.embeddingGradient(operands, { vocabulary, columns })
  }

  softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, weights?: TensorLike): SoftmaxCrossEntropyResult {
    const action = 'compute softmax cross-entropy'
    const scores = this.takenOne(action, 'logits', logits)
    const classes = this.takenOne(action, 'labels', labels)
    const factors = weights === undefined ? undefined : this.takenOne(action, 'weights', weights)
    const sizes = checkSoftmaxCrossEntropy(this.memory.dtype, scores, classes, factors)
    const operands = {
      logits: scores,
      labels: this.#ids(action, 'labels', classes, sizes.classes),
      weights: factors,
    }
    return this.kernels.softmaxCrossEntropy(operands, sizes)
  }

  globalNorm(tensors: readonly BackendTensor[]): Own {
    const owned = new Set(this.#owned('compute the global norm', tensors, false))
    return this.kernels.norm([...owned], Number.POSITIVE_INFINITY)
  }

  clipByGlobalNorm(tensors: readonly BackendTensor[], maxNorm: number): Own {
    const action = 'clip by global norm'
    checkHyperparameter(action, 'maxNorm', maxNorm, { minimum: 0 })
    // A tensor that is listed twice would be scaled twice.
    const owned = [...new Set(this.#owned(action, tensors, true))]
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
    this.#update(action, { rule: 'addScaled', scale }, ['variable', 'source'], [variable, source])
  }

  update<Rule extends OptimizerRule>(
    rule: Rule,
    variable: BackendTensor,
    slots: OptimizerSlots<Rule>,
    source: TensorLike | null,
    options: OptimizerOptions<Rule>,
  ): void {
    const row = checkRuleArguments(rule, slots)
    const { action, operandNames, isSourceNullable } = row
    checkIsObject(action, 'options', options)
    const count = 'step' in options ? this.#count(action, options.step) : undefined
    const update = completeUpdate(row, options, count)
    const written = [variable, ...(slots as readonly BackendTensor[])]
    if (isSourceNullable && source === null) this.#update(action, update, operandNames.slice(0, -1), written, false)
    else this.#update(action, update, operandNames, [...written, source as TensorLike])
  }

  /**
   * Checks all operands, then updates. A step of training makes one such call per variable, so the operands are in arrays:
   * building an object of them takes longer than the checks.
   *
   * @param names of the operands in the public API
   * @param operands all are overwritten, but the last where it is the source
   */
  #update(
    action: string,
    update: OptimizerUpdate,
    names: readonly string[],
    operands: readonly TensorLike[],
    hasSource = true,
  ): void {
    const { memory } = this
    memory.life.check(action)
    for (let k = 0; k < operands.length; k++) checkOwnTensor(memory, action, names[k], operands[k])
    const taken = operands.map((operand, k) => checkIsTensor(action, names[k], operand))
    checkAlike(action, memory.dtype, names, taken)
    const source = hasSource ? taken.pop() : undefined
    const owned = taken.map((tensor, k) => writableTensor(memory, action, names[k], tensor))
    this.kernels.update(update, owned, source)
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
  #count(action: string, step: unknown): Own | undefined {
    if (this.kernels.readsCounts !== true || !isBackendTensor(step)) return undefined
    const own = ownTensor(this.memory, action, 'step', this.takenOne(action, 'step', step))
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
      const taken = this.takenOne(action, name, tensor)
      const own = (isWritten ? writableTensor : ownTensor)(this.memory, action, name, taken)
      checkRule(action, name, own, { dtype })
      return own
    })
  }
}
