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
import type { FloatArray } from '@cudnn-rnn/canonical'
import { embedding, embeddingGradient } from './embedding.js'
import { linear, linearGradients } from './linear.js'
import {
  addScaled,
  applyAdagrad,
  applyAdam,
  applyMomentum,
  applyRmsProp,
  applyWeightDecay,
} from './optimizer_updates.js'
import type { ReferenceMemory } from './reference_memory.js'
import type { ReferenceTensor } from './reference_tensor.js'
import { softmaxCrossEntropy } from './softmax_cross_entropy.js'

/** The dense operations on the JavaScript heap: checks first, then one function of the file named for it. */
export class ReferenceDenseOps implements DenseOps {
  readonly #memory: ReferenceMemory

  constructor(memory: ReferenceMemory) {
    this.#memory = memory
  }

  linear(input: TensorLike, kernel: TensorLike, bias: TensorLike): ReferenceTensor {
    const action = 'apply linear'
    const memory = this.#alive(action)
    const sizes = checkLinear(memory.dtype, input, kernel, bias)
    const output = memory.allocate(sizes.rows * sizes.outputs)
    const x = memory.floats(action, 'input', input)
    const weights = memory.floats(action, 'kernel', kernel)
    linear(output, x, weights, memory.floats(action, 'bias', bias), sizes)
    return memory.create([...input.shape.slice(0, -1), sizes.outputs], output)
  }

  linearGradients(input: TensorLike, kernel: TensorLike, outputGradient: TensorLike): LinearGradients {
    const action = 'apply linear'
    const memory = this.#alive(action)
    const sizes = checkLinear(memory.dtype, input, kernel)
    const outputShape = [...input.shape.slice(0, -1), sizes.outputs]
    checkTensor(action, 'outputGradient', outputGradient, {
      dtype: memory.dtype,
      shape: outputShape,
    })
    const gradients = {
      input: memory.allocate(sizes.rows * sizes.inputs),
      kernel: memory.allocate(sizes.inputs * sizes.outputs),
      bias: memory.allocate(sizes.outputs),
    }
    const x = memory.floats(action, 'input', input)
    const weights = memory.floats(action, 'kernel', kernel)
    linearGradients(gradients, x, weights, memory.floats(action, 'outputGradient', outputGradient), sizes)
    return {
      input: memory.create(input.shape, gradients.input),
      kernel: memory.create(kernel.shape, gradients.kernel),
      bias: memory.create([sizes.outputs], gradients.bias),
    }
  }

  embedding(table: TensorLike, ids: TensorLike): ReferenceTensor {
    const action = 'look up embeddings'
    const memory = this.#alive(action)
    checkTensor(action, 'table', table, {
      dtype: memory.dtype,
      shape: [undefined, undefined],
    })
    const [vocabulary, columns] = table.shape as [number, number]
    const values = this.#ids(action, ids, vocabulary)
    const rows = memory.allocate(values.length * columns)
    embedding(rows, memory.floats(action, 'table', table), values, columns)
    return memory.create([...ids.shape, columns], rows)
  }

  embeddingGradient(vocabulary: number, ids: TensorLike, outputGradient: TensorLike): ReferenceTensor {
    const action = 'add up the embedding gradient'
    const memory = this.#alive(action)
    checkTensor(action, 'outputGradient', outputGradient, {
      dtype: memory.dtype,
    })
    checkIds(action, 'ids', ids)
    checkShape(action, 'outputGradient', outputGradient.shape, [...ids.shape, undefined])
    const columns = outputGradient.shape.at(-1)!
    const rows = memory.floats(action, 'outputGradient', outputGradient)
    const values = this.#ids(action, ids, vocabulary)
    const table = memory.allocate(vocabulary * columns)
    embeddingGradient(table, values, rows, columns)
    return memory.create([vocabulary, columns], table)
  }

  softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, weights?: TensorLike): SoftmaxCrossEntropyResult {
    const action = 'compute softmax cross-entropy'
    const memory = this.#alive(action)
    const { classes } = checkSoftmaxCrossEntropy(memory.dtype, logits, labels, weights)
    const z = memory.floats(action, 'logits', logits)
    const classIds = memory.elements(action, 'labels', labels) as Int32Array
    checkIdValues(action, 'labels', classIds, classes)
    const rowWeights = weights && memory.floats(action, 'weights', weights)
    const gradient = memory.allocate(z.length)
    const loss = softmaxCrossEntropy(gradient, z, classIds, rowWeights, classes)
    return {
      loss: this.#scalar(loss),
      logitsGradient: memory.create(logits.shape, gradient),
    }
  }

  globalNorm(tensors: readonly BackendTensor[]): ReferenceTensor {
    return this.#scalar(this.#norm('compute the global norm', tensors))
  }

  clipByGlobalNorm(tensors: readonly BackendTensor[], maxNorm: number): ReferenceTensor {
    const action = 'clip by global norm'
    checkHyperparameter(action, 'maxNorm', maxNorm, { minimum: 0 })
    const norm = this.#norm(action, tensors)
    // A norm that is not finite leaves the tensors as they are, for the caller to see.
    const scale = norm > maxNorm && Number.isFinite(norm) ? maxNorm / norm : 1
    for (const tensor of tensors) {
      // Overwritten whatever the norm: other executors queue the scaling before they know it.
      const data = this.#written(action, 'a tensor', tensor)
      if (scale !== 1) for (let index = 0; index < data.length; index++) data[index]! *= scale
    }
    return this.#scalar(norm)
  }

  assign(variable: BackendTensor, source: TensorLike): void {
    const action = 'assign'
    this.#alive(action)
    checkIsTensor(action, 'variable', variable)
    const { dtype, shape, layout } = variable
    checkTensor(action, 'source', source, { dtype, shape, layout })
    const values = this.#memory.elements(action, 'source', source)
    this.#written(action, 'variable', variable).set(values)
  }

  accumulate(variable: BackendTensor, source: TensorLike, scale = 1): void {
    const action = 'accumulate'
    checkHyperparameter(action, 'scale', scale)
    this.#update(action, { variable, source }, (v, s) => addScaled(v!, s!, scale))
  }

  applySgd(variable: BackendTensor, gradient: TensorLike, { learningRate }: { readonly learningRate: number }): void {
    const action = 'apply SGD'
    checkHyperparameter(action, 'learningRate', learningRate, { minimum: 0 })
    this.#update(action, { variable, gradient }, (v, g) => addScaled(v!, g!, -learningRate))
  }

  applyMomentum(
    variable: BackendTensor,
    velocity: BackendTensor,
    gradient: TensorLike,
    options: MomentumOptions,
  ): void {
    const action = 'apply momentum'
    const complete = completeMomentum(action, options)
    this.#update(action, { variable, velocity, gradient }, (x, v, g) => applyMomentum(x!, v!, g!, complete))
  }

  applyAdam(
    variable: BackendTensor,
    firstMoment: BackendTensor,
    secondMoment: BackendTensor,
    gradient: TensorLike,
    options: AdamOptions,
  ): void {
    const action = 'apply Adam'
    const complete = completeAdam(action, options)
    this.#update(action, { variable, firstMoment, secondMoment, gradient }, (x, m, v, g) =>
      applyAdam(x!, m!, v!, g!, complete),
    )
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
    this.#update(action, { variable, meanSquare, velocity, gradient }, (x, s, v, g) =>
      applyRmsProp(x!, s!, v!, g!, complete),
    )
  }

  applyAdagrad(
    variable: BackendTensor,
    sumOfSquares: BackendTensor,
    gradient: TensorLike,
    options: AdagradOptions,
  ): void {
    const action = 'apply Adagrad'
    const complete = completeAdagrad(action, options)
    this.#update(action, { variable, sumOfSquares, gradient }, (x, s, g) => applyAdagrad(x!, s!, g!, complete))
  }

  applyWeightDecay(
    variable: BackendTensor,
    { rate, mask }: { readonly rate: number; readonly mask?: TensorLike | undefined },
  ): void {
    const action = 'apply weight decay'
    checkHyperparameter(action, 'rate', rate, { minimum: 0 })
    this.#update(action, { variable, mask: mask ?? variable }, (x, m) =>
      applyWeightDecay(x!, mask === undefined ? undefined : m!, rate),
    )
  }

  clipByValue(tensors: readonly BackendTensor[], limit: number): void {
    const action = 'clip by value'
    checkHyperparameter(action, 'limit', limit, { minimum: 0 })
    const memory = this.#alive(action)
    for (const [index, tensor] of tensors.entries()) {
      checkTensor(action, `tensors[${index}]`, tensor, { dtype: memory.dtype })
      memory.own(action, `tensors[${index}]`, tensor)
    }
    for (const tensor of tensors) {
      const data = this.#written(action, 'a tensor', tensor)
      for (let index = 0; index < data.length; index++) data[index] = Math.max(-limit, Math.min(limit, data[index]!))
    }
  }

  /** Checks all operands, then runs `update` on their elements; every operand but the last is written. */
  #update(action: string, operands: Record<string, TensorLike>, update: (...data: FloatArray[]) => void): void {
    const memory = this.#alive(action)
    checkUpdate(action, memory.dtype, operands)
    const entries = Object.entries(operands)
    const last = entries.length - 1
    for (const [name, tensor] of entries.slice(0, last)) memory.own(action, name, tensor)
    const source = memory.floats(action, ...entries[last]!)
    const written = entries.slice(0, last).map(([name, tensor]) => this.#written(action, name, tensor as BackendTensor))
    update(...(written as FloatArray[]), source)
  }

  /** The elements of a tensor that is about to be overwritten: its version grows. */
  #written(action: string, name: string, tensor: BackendTensor): FloatArray {
    const own = this.#memory.own(action, name, tensor)
    own.version++
    return own.data as FloatArray
  }

  #ids(action: string, ids: TensorLike, count: number): Int32Array {
    checkIds(action, 'ids', ids)
    const values = this.#memory.elements(action, 'ids', ids) as Int32Array
    checkIdValues(action, 'ids', values, count)
    return values
  }

  /** √(Σ x²) over all tensors, in double precision. */
  #norm(action: string, tensors: readonly BackendTensor[]): number {
    const memory = this.#alive(action)
    let sum = 0
    for (const [index, tensor] of tensors.entries()) {
      checkTensor(action, `tensors[${index}]`, tensor, { dtype: memory.dtype })
      const data = memory.own(action, `tensors[${index}]`, tensor).data
      for (let i = 0; i < data.length; i++) sum += data[i]! * data[i]!
    }
    return Math.sqrt(sum)
  }

  #scalar(value: number): ReferenceTensor {
    const data = this.#memory.allocate(1)
    data[0] = value
    return this.#memory.create([], data)
  }

  #alive(action: string): ReferenceMemory {
    this.#memory.checkAlive(action)
    return this.#memory
  }
}
