import {
  type AdagradOptions,
  type AdamOptions,
  type BackendTensor,
  checkHyperparameter,
  checkIds,
  checkIdValues,
  checkIsTensor,
  checkLinear,
  checkShape,
  checkSoftmaxCrossEntropy,
  checkTensor,
  checkUpdate,
  completeAdagrad,
  completeAdam,
  completeMomentum,
  completeRmsProp,
  type DenseOps,
  type LinearGradients,
  type MomentumOptions,
  type RmsPropOptions,
  type SoftmaxCrossEntropyResult,
  type TensorLike,
} from '@cudnn-rnn/backend'
import { elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import type { CpuMemory } from './cpu_memory.js'
import type { CpuTensor } from './cpu_tensor.js'
import { UPDATE_RULES, type UpdateRule } from './native_addon.js'

/** The dense operations: checks first, then one queued operation. */
export class CpuDenseOps implements DenseOps {
  readonly #memory: CpuMemory

  constructor(memory: CpuMemory) {
    this.#memory = memory
  }

  linear(input: TensorLike, kernel: TensorLike, bias: TensorLike): CpuTensor {
    const action = 'apply linear'
    const memory = this.#alive(action)
    const sizes = checkLinear(memory.dtype, input, kernel, bias)
    const output = memory.allocate(sizes.rows * sizes.outputs)
    const job = memory.executor.linear({
      input: memory.floats(action, 'input', input),
      kernel: memory.floats(action, 'kernel', kernel),
      bias: memory.floats(action, 'bias', bias),
      ...sizes,
      output,
    })
    return memory.result([...input.shape.slice(0, -1), sizes.outputs], output, job)
  }

  linearGradients(input: TensorLike, kernel: TensorLike, outputGradient: TensorLike): LinearGradients {
    const action = 'apply linear'
    const memory = this.#alive(action)
    const sizes = checkLinear(memory.dtype, input, kernel)
    const shape = [...input.shape.slice(0, -1), sizes.outputs]
    checkTensor(action, 'outputGradient', outputGradient, { dtype: memory.dtype, shape })
    const dInput = memory.allocate(sizes.rows * sizes.inputs)
    const dKernel = memory.allocate(sizes.inputs * sizes.outputs)
    const dBias = memory.allocate(sizes.outputs)
    const job = memory.executor.linearGradients({
      input: memory.floats(action, 'input', input),
      kernel: memory.floats(action, 'kernel', kernel),
      dOutput: memory.floats(action, 'outputGradient', outputGradient),
      ...sizes,
      ...{ dInput, dKernel, dBias },
    })
    return {
      input: memory.result(input.shape, dInput, job),
      kernel: memory.result(kernel.shape, dKernel, job),
      bias: memory.result([sizes.outputs], dBias, job),
    }
  }

  embedding(table: TensorLike, ids: TensorLike): CpuTensor {
    const action = 'look up embeddings'
    const memory = this.#alive(action)
    checkTensor(action, 'table', table, { dtype: memory.dtype, shape: [undefined, undefined] })
    const [vocabulary, columns] = table.shape as [number, number]
    const values = this.#ids(action, ids, vocabulary)
    const rows = memory.floats(action, 'table', table)
    const output = memory.allocate(values.length * columns)
    const job = memory.executor.embedding({ table: rows, ids: values, columns, output })
    return memory.result([...ids.shape, columns], output, job)
  }

  embeddingGradient(vocabulary: number, ids: TensorLike, outputGradient: TensorLike): CpuTensor {
    const action = 'add up the embedding gradient'
    const memory = this.#alive(action)
    checkTensor(action, 'outputGradient', outputGradient, { dtype: memory.dtype })
    checkIds(action, 'ids', ids)
    checkShape(action, 'outputGradient', outputGradient.shape, [...ids.shape, undefined])
    const columns = outputGradient.shape.at(-1)!
    const values = this.#ids(action, ids, vocabulary)
    const output = memory.floats(action, 'outputGradient', outputGradient)
    const table = memory.allocate(vocabulary * columns)
    const job = memory.executor.embeddingGradient({ table, ids: values, columns, output })
    return memory.result([vocabulary, columns], table, job)
  }

  softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, weights?: TensorLike): SoftmaxCrossEntropyResult {
    const action = 'compute softmax cross-entropy'
    const memory = this.#alive(action)
    const { rows, classes } = checkSoftmaxCrossEntropy(memory.dtype, logits, labels, weights)
    const classIds = memory.integers(action, 'labels', labels)
    checkIdValues(action, 'labels', classIds, classes)
    const loss = memory.allocate(1)
    const gradient = memory.allocate(elementCount(logits.shape))
    const job = memory.executor.softmaxCrossEntropy({
      logits: memory.floats(action, 'logits', logits),
      labels: classIds,
      weights: weights === undefined ? null : memory.floats(action, 'weights', weights),
      ...{ rows, classes, loss, gradient },
    })
    return { loss: memory.result([], loss, job), logitsGradient: memory.result(logits.shape, gradient, job) }
  }

  globalNorm(tensors: readonly BackendTensor[]): CpuTensor {
    return this.#norm('compute the global norm', tensors, Number.POSITIVE_INFINITY)
  }

  clipByGlobalNorm(tensors: readonly BackendTensor[], maxNorm: number): CpuTensor {
    const action = 'clip by global norm'
    checkHyperparameter(action, 'maxNorm', maxNorm, { minimum: 0 })
    const norm = this.#norm(action, tensors, maxNorm)
    for (const tensor of tensors) this.#wrote(tensor as CpuTensor, norm.job)
    return norm
  }

  assign(variable: BackendTensor, source: TensorLike): void {
    const action = 'assign'
    const memory = this.#alive(action)
    checkIsTensor(action, 'variable', variable)
    const { dtype, shape, layout } = variable
    checkTensor(action, 'source', source, { dtype, shape, layout })
    const own = memory.own(action, 'variable', variable)
    if (dtype === 'int32') {
      // Queued work has copies of integers.
      own.data.set(memory.integers(action, 'source', source))
      own.version++
      return
    }
    this.#queue('assign', [own], [memory.floats(action, 'source', source)])
  }

  accumulate(variable: BackendTensor, source: TensorLike, scale = 1): void {
    const action = 'accumulate'
    checkHyperparameter(action, 'scale', scale)
    this.#update(action, 'addScaled', { variable, source }, [scale])
  }

  applySgd(variable: BackendTensor, gradient: TensorLike, { learningRate }: { readonly learningRate: number }): void {
    const action = 'apply SGD'
    checkHyperparameter(action, 'learningRate', learningRate, { minimum: 0 })
    this.#update(action, 'addScaled', { variable, gradient }, [-learningRate])
  }

  applyMomentum(
    variable: BackendTensor,
    velocity: BackendTensor,
    gradient: TensorLike,
    options: MomentumOptions,
  ): void {
    const action = 'apply momentum'
    const { learningRate, momentum, nesterov, rateInVelocity } = completeMomentum(action, options)
    const numbers = [learningRate, momentum, Number(nesterov), Number(rateInVelocity)]
    this.#update(action, 'momentum', { variable, velocity, gradient }, numbers)
  }

  applyAdam(
    variable: BackendTensor,
    firstMoment: BackendTensor,
    secondMoment: BackendTensor,
    gradient: TensorLike,
    options: AdamOptions,
  ): void {
    const action = 'apply Adam'
    const { learningRate, beta1, beta2, epsilon, step } = completeAdam(action, options)
    const operands = { variable, firstMoment, secondMoment, gradient }
    this.#update(action, 'adam', operands, [learningRate, beta1, beta2, epsilon, step])
  }

  applyRmsProp(
    variable: BackendTensor,
    meanSquare: BackendTensor,
    velocity: BackendTensor,
    gradient: TensorLike,
    options: RmsPropOptions,
  ): void {
    const action = 'apply RMSProp'
    const complete = completeRmsProp(action, options)
    const { learningRate, decay, momentum, rateInVelocity, epsilon, epsilonInRoot } = complete
    const numbers = [learningRate, decay, momentum, epsilon, Number(epsilonInRoot), Number(rateInVelocity)]
    this.#update(action, 'rmsProp', { variable, meanSquare, velocity, gradient }, numbers)
  }

  applyAdagrad(
    variable: BackendTensor,
    sumOfSquares: BackendTensor,
    gradient: TensorLike,
    options: AdagradOptions,
  ): void {
    const action = 'apply Adagrad'
    const { learningRate, epsilon, epsilonInRoot } = completeAdagrad(action, options)
    this.#update(action, 'adagrad', { variable, sumOfSquares, gradient }, [
      learningRate,
      epsilon,
      Number(epsilonInRoot),
    ])
  }

  applyWeightDecay(
    variable: BackendTensor,
    { rate, mask }: { readonly rate: number; readonly mask?: TensorLike | undefined },
  ): void {
    const action = 'apply weight decay'
    checkHyperparameter(action, 'rate', rate, { minimum: 0 })
    if (mask !== undefined) {
      this.#update(action, 'weightDecay', { variable, mask }, [rate])
      return
    }
    checkUpdate(action, this.#alive(action).dtype, { variable })
    this.#queue('weightDecay', [this.#memory.own(action, 'variable', variable)], [null], [rate])
  }

  clipByValue(tensors: readonly BackendTensor[], limit: number): void {
    const action = 'clip by value'
    checkHyperparameter(action, 'limit', limit, { minimum: 0 })
    const own = this.#owned(action, tensors)
    for (const tensor of own) this.#queue('clip', [tensor], [], [limit])
  }

  /** Checks all operands, then queues the update; every operand but the last is written. */
  #update(action: string, rule: UpdateRule, operands: Record<string, TensorLike>, numbers: number[]): void {
    const memory = this.#alive(action)
    checkUpdate(action, memory.dtype, operands)
    const entries = Object.entries(operands)
    const last = entries.length - 1
    const written = entries.slice(0, last).map(([name, tensor]) => memory.own(action, name, tensor))
    this.#queue(rule, written, [memory.floats(action, ...entries[last]!)], numbers)
  }

  #queue(rule: UpdateRule, written: CpuTensor[], read: (FloatArray | null)[], numbers: number[] = []): void {
    const job = this.#memory.executor.update({
      rule: UPDATE_RULES.indexOf(rule),
      operands: [...written.map(({ data }) => data as FloatArray), ...read],
      numbers: Float64Array.from(numbers),
    })
    for (const tensor of written) this.#wrote(tensor, job)
  }

  /** Notes that a tensor is overwritten by operation `job`: its version grows. */
  #wrote(tensor: CpuTensor, job: number): void {
    tensor.version++
    tensor.job = job
  }

  #ids(action: string, ids: TensorLike, count: number): Int32Array {
    checkIds(action, 'ids', ids)
    const values = this.#memory.integers(action, 'ids', ids)
    checkIdValues(action, 'ids', values, count)
    return values
  }

  #norm(action: string, tensors: readonly BackendTensor[], maxNorm: number): CpuTensor {
    const own = this.#owned(action, tensors)
    const norm = this.#memory.allocate(1)
    const job = this.#memory.executor.norm({ tensors: own.map(({ data }) => data as FloatArray), maxNorm, norm })
    return this.#memory.result([], norm, job)
  }

  #owned(action: string, tensors: readonly BackendTensor[]): CpuTensor[] {
    const memory = this.#alive(action)
    return tensors.map((tensor, index) => {
      const name = `tensors[${index}]`
      checkTensor(action, name, tensor, { dtype: memory.dtype })
      return memory.own(action, name, tensor)
    })
  }

  #alive(action: string): CpuMemory {
    this.#memory.checkAlive(action)
    return this.#memory
  }
}
