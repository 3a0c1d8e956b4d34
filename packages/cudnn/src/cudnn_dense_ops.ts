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
  isBackendTensor,
  type LinearGradients,
  type MomentumOptions,
  type RmsPropOptions,
  type SoftmaxCrossEntropyResult,
  type TensorLike,
} from '@cudnn-rnn/backend'
import { elementCount } from '@cudnn-rnn/canonical'
import type { CudnnExecutor } from './cudnn_executor.js'
import type { CudnnTensor } from './cudnn_tensor.js'
import { DeviceBuffer } from './device_buffer.js'
import type { KernelParameter } from './device_kernels.js'
import type { KernelName } from './kernel_table.js'
import { appendMatrixProduct } from './matrix_products.js'
import { PassBuffers } from './pass_buffers.js'

/** Blocks whose partial sums of squares are added up in a second step. */
const NORM_BLOCKS = 128

/** The dense operations on the device: checks first, then one batch of kernels and products, and nothing waits for it. */
export class CudnnDenseOps implements DenseOps {
  readonly #executor: CudnnExecutor
  /** Where it is not finite, updates change nothing. */
  #guard: CudnnTensor | undefined

  constructor(executor: CudnnExecutor) {
    this.#executor = executor
  }

  linear(input: TensorLike, kernel: TensorLike, bias: TensorLike): CudnnTensor {
    const action = 'apply linear'
    const { memory, kernels, session, arithmetic } = this.#alive(action)
    const { rows, inputs, outputs } = checkLinear(memory.dtype, input, kernel, bias)
    return this.#batch(action, { input, kernel, bias }, (on) => {
      const y = memory.allocate(rows * outputs)
      kernels.each('broadcast_rows', rows * outputs, y, on.bias, rows * outputs, outputs)
      const x = { buffer: on.input, columns: inputs }
      const weights = { buffer: on.kernel, columns: outputs }
      appendMatrixProduct(session, arithmetic, y, [rows, inputs, outputs], x, weights, 1)
      return () => memory.tensor(y, [...input.shape.slice(0, -1), outputs])
    })
  }

  linearGradients(input: TensorLike, kernel: TensorLike, outputGradient: TensorLike): LinearGradients {
    const action = 'apply linear'
    const { memory, kernels, session, arithmetic } = this.#alive(action)
    const { rows, inputs, outputs } = checkLinear(memory.dtype, input, kernel)
    checkTensor(action, 'outputGradient', outputGradient, {
      dtype: memory.dtype,
      shape: [...input.shape.slice(0, -1), outputs],
    })
    return this.#batch(action, { input, kernel, outputGradient }, (on, owned) => {
      const dx = memory.allocate(rows * inputs)
      const dkernel = memory.allocate(inputs * outputs)
      const dbias = memory.allocate(outputs)
      const ones = owned.own(memory.allocate(rows))
      const dy = { buffer: on.outputGradient, columns: outputs }
      const weights = { buffer: on.kernel, columns: outputs, transposed: true }
      appendMatrixProduct(session, arithmetic, dx, [rows, outputs, inputs], dy, weights, 0)
      const x = { buffer: on.input, columns: inputs, transposed: true }
      appendMatrixProduct(session, arithmetic, dkernel, [inputs, rows, outputs], x, dy, 0)
      kernels.each('fill', rows, ones, rows, 1)
      appendMatrixProduct(session, arithmetic, dbias, [1, rows, outputs], { buffer: ones, columns: rows }, dy, 0)
      return () => ({
        input: memory.tensor(dx, input.shape),
        kernel: memory.tensor(dkernel, kernel.shape),
        bias: memory.tensor(dbias, [outputs]),
      })
    })
  }

  embedding(table: TensorLike, ids: TensorLike): CudnnTensor {
    const action = 'look up embeddings'
    const { memory, kernels } = this.#alive(action)
    checkTensor(action, 'table', table, { dtype: memory.dtype, shape: [undefined, undefined] })
    const [vocabulary, columns] = table.shape as [number, number]
    checkIds(action, 'ids', ids)
    this.#checkHostIds(action, 'ids', ids, vocabulary)
    const count = elementCount(ids.shape) * columns
    return this.#batch(action, { table, ids }, (on) => {
      const rows = memory.allocate(count)
      kernels.each('embedding', count, rows, on.table, on.ids, count, columns, vocabulary)
      return () => memory.tensor(rows, [...ids.shape, columns])
    })
  }

  embeddingGradient(vocabulary: number, ids: TensorLike, outputGradient: TensorLike): CudnnTensor {
    const action = 'add up the embedding gradient'
    const { memory, kernels } = this.#alive(action)
    checkTensor(action, 'outputGradient', outputGradient, { dtype: memory.dtype })
    checkIds(action, 'ids', ids)
    checkShape(action, 'outputGradient', outputGradient.shape, [...ids.shape, undefined])
    this.#checkHostIds(action, 'ids', ids, vocabulary)
    const columns = outputGradient.shape.at(-1)!
    const count = elementCount(ids.shape)
    return this.#batch(action, { ids, outputGradient }, (on) => {
      const table = memory.allocate(vocabulary * columns)
      kernels.blocks('embedding_gradient', vocabulary, table, on.ids, on.outputGradient, count, columns)
      return () => memory.tensor(table, [vocabulary, columns])
    })
  }

  softmaxCrossEntropy(logits: TensorLike, labels: TensorLike, weights?: TensorLike): SoftmaxCrossEntropyResult {
    const action = 'compute softmax cross-entropy'
    const { memory, kernels, session } = this.#alive(action)
    const { rows, classes } = checkSoftmaxCrossEntropy(memory.dtype, logits, labels, weights)
    this.#checkHostIds(action, 'labels', labels, classes)
    return this.#batch(action, { logits, labels, weights }, (on, owned) => {
      const gradient = memory.allocate(rows * classes)
      const loss = memory.allocate(1)
      const rowLosses = owned.own(new DeviceBuffer(session, rows * Float64Array.BYTES_PER_ELEMENT))
      const total = owned.own(new DeviceBuffer(session, Float64Array.BYTES_PER_ELEMENT))
      if (on.weights) kernels.blocks('sum', 1, total, on.weights, rows)
      else session.native.clear(session.handle, total.handle, 0, total.bytes)
      kernels.blocks(
        'softmax_cross_entropy',
        rows,
        ...[gradient, rowLosses, on.logits, on.labels, on.weights ?? null, total, rows, classes],
      )
      kernels.blocks('sum_losses', 1, loss, rowLosses, rows)
      return () => ({ loss: memory.tensor(loss, []), logitsGradient: memory.tensor(gradient, logits.shape) })
    })
  }

  globalNorm(tensors: readonly BackendTensor[]): CudnnTensor {
    return this.#norm('compute the global norm', tensors)
  }

  clipByGlobalNorm(tensors: readonly BackendTensor[], maxNorm: number): CudnnTensor {
    const action = 'clip by global norm'
    checkHyperparameter(action, 'maxNorm', maxNorm, { minimum: 0 })
    return this.#norm(action, tensors, maxNorm)
  }

  assign(variable: BackendTensor, source: TensorLike): void {
    const action = 'assign'
    const { session } = this.#alive(action)
    checkIsTensor(action, 'variable', variable)
    const { dtype, shape, layout } = variable
    checkTensor(action, 'source', source, { dtype, shape, layout })
    const target = this.#written(action, { variable })[0]!
    this.#batch(action, { source }, (on) => {
      const { handle, bytes } = target.buffer
      session.native.copy(session.handle, handle, 0, on.source.handle, 0, Math.min(bytes, on.source.bytes))
      return () => {}
    })
  }

  accumulate(variable: BackendTensor, source: TensorLike, scale = 1): void {
    const action = 'accumulate'
    checkHyperparameter(action, 'scale', scale)
    this.#update(action, 'add_scaled', { variable }, { source }, [scale])
  }

  applySgd(variable: BackendTensor, gradient: TensorLike, { learningRate }: { readonly learningRate: number }): void {
    const action = 'apply SGD'
    checkHyperparameter(action, 'learningRate', learningRate, { minimum: 0 })
    this.#update(action, 'add_scaled', { variable }, { gradient }, [-learningRate])
  }

  applyMomentum(
    variable: BackendTensor,
    velocity: BackendTensor,
    gradient: TensorLike,
    options: MomentumOptions,
  ): void {
    const action = 'apply momentum'
    const { learningRate, momentum, nesterov, rateInVelocity } = completeMomentum(action, options)
    const rates = rateInVelocity ? [learningRate, 1] : [1, learningRate]
    this.#update(action, 'apply_momentum', { variable, velocity }, { gradient }, [momentum, ...rates, Number(nesterov)])
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
    this.#update(action, 'apply_adam', { variable, firstMoment, secondMoment }, { gradient }, [
      learningRate,
      ...[beta1, 1 - beta1, beta2, 1 - beta2],
      ...[1 / (1 - beta1 ** step), 1 / (1 - beta2 ** step), epsilon],
    ])
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
    const rates = rateInVelocity ? [learningRate, 1] : [1, learningRate]
    this.#update(action, 'apply_rms_prop', { variable, meanSquare, velocity }, { gradient }, [
      ...[decay, 1 - decay, momentum, ...rates, epsilon],
      Number(epsilonInRoot),
    ])
  }

  applyAdagrad(
    variable: BackendTensor,
    sumOfSquares: BackendTensor,
    gradient: TensorLike,
    options: AdagradOptions,
  ): void {
    const action = 'apply Adagrad'
    const { learningRate, epsilon, epsilonInRoot } = completeAdagrad(action, options)
    const scalars = [learningRate, epsilon, Number(epsilonInRoot)]
    this.#update(action, 'apply_adagrad', { variable, sumOfSquares }, { gradient }, scalars)
  }

  applyWeightDecay(
    variable: BackendTensor,
    { rate, mask }: { readonly rate: number; readonly mask?: TensorLike | undefined },
  ): void {
    const action = 'apply weight decay'
    checkHyperparameter(action, 'rate', rate, { minimum: 0 })
    this.#update(action, 'apply_weight_decay', { variable }, { mask }, [rate])
  }

  clipByValue(tensors: readonly BackendTensor[], limit: number): void {
    const action = 'clip by value'
    checkHyperparameter(action, 'limit', limit, { minimum: 0 })
    const { kernels } = this.#alive(action)
    const written = this.#written(action, this.#named(action, tensors))
    this.#batch(action, {}, () => {
      for (const tensor of written) {
        const count = elementCount(tensor.shape)
        kernels.each('clip_by_value', count, tensor.buffer, count, limit)
      }
      return () => {}
    })
  }

  /** {@link TrainingSteps.whereFinite} */
  whereFinite(scalars: readonly BackendTensor[], updates: () => void): void {
    const action = 'guard updates'
    const { memory, kernels } = this.#alive(action)
    for (const [index, scalar] of scalars.entries()) {
      checkTensor(action, `scalars[${index}]`, scalar, { dtype: memory.dtype, shape: [] })
    }
    const own = scalars.map((scalar, index) => memory.own(action, `scalars[${index}]`, scalar))
    const before = this.#guard
    const guards: CudnnTensor[] = []
    try {
      for (const scalar of own) {
        const guard = this.#guard
        if (guard === undefined) {
          this.#guard = scalar
          continue
        }
        this.#guard = this.#batch(action, { guard, scalar }, (on) => {
          const both = memory.allocate(1)
          kernels.blocks('both_finite', 1, both, on.guard, on.scalar)
          return () => memory.tensor(both, [])
        })
        guards.push(this.#guard)
      }
      updates()
    } finally {
      this.#guard = before
      for (const guard of guards) guard.dispose()
    }
  }

  /** √(Σ x²) over all tensors; with `limit`, scales them down to it on the device. */
  #norm(action: string, tensors: readonly BackendTensor[], limit?: number): CudnnTensor {
    const { memory, kernels, session } = this.#alive(action)
    const named = this.#named(action, tensors)
    const own =
      limit === undefined ? tensors.map((t) => memory.own(action, 'a tensor', t)) : this.#written(action, named)
    return this.#batch(action, {}, (_, owned) => {
      const norm = memory.allocate(1)
      const partials = own.map(({ buffer, shape }) => {
        const partial = owned.own(new DeviceBuffer(session, NORM_BLOCKS * Float64Array.BYTES_PER_ELEMENT))
        kernels.blocks('sum_of_squares', NORM_BLOCKS, partial, buffer, elementCount(shape))
        return partial
      })
      const all = owned.own(new DeviceBuffer(session, partials.length * NORM_BLOCKS * Float64Array.BYTES_PER_ELEMENT))
      for (const [index, { handle, bytes }] of partials.entries()) {
        session.native.copy(session.handle, all.handle, index * bytes, handle, 0, bytes)
      }
      kernels.blocks('norm_of_partials', 1, norm, all, partials.length * NORM_BLOCKS)
      for (const { buffer, shape } of limit === undefined ? [] : own) {
        const count = elementCount(shape)
        kernels.each('clip_by_norm', count, buffer, norm, count, limit!)
      }
      return () => memory.tensor(norm, [])
    })
  }

  /** Checks all operands, then appends one kernel over the variables, the source and the scalars. */
  #update(
    action: string,
    name: KernelName,
    variables: Readonly<Record<string, BackendTensor>>,
    source: Readonly<Record<string, TensorLike | undefined>>,
    scalars: readonly number[],
  ): void {
    const { memory, kernels } = this.#alive(action)
    const given = Object.fromEntries(Object.entries(source).filter(([, tensor]) => tensor !== undefined))
    checkUpdate(action, memory.dtype, { ...variables, ...given } as Record<string, TensorLike>)
    memory.checkOwn(action, source)
    const written = this.#written(action, variables)
    const guard: { readonly guard?: CudnnTensor } = this.#guard === undefined ? {} : { guard: this.#guard }
    this.#batch(action, { ...source, ...guard } as Readonly<Record<string, TensorLike | undefined>>, (on) => {
      const [first] = written
      const count = elementCount(first!.shape)
      const buffers: KernelParameter[] = written.map(({ buffer }) => buffer)
      for (const operand of Object.keys(source)) buffers.push(on[operand] ?? null)
      kernels.each(name, count, ...buffers, count, ...scalars, on['guard'] ?? null)
      return () => {}
    })
  }

  /** Tensors that are about to be overwritten, once all are known to be the executor's: their versions grow. */
  #written(action: string, tensors: Readonly<Record<string, BackendTensor>>): CudnnTensor[] {
    const own = Object.entries(tensors).map(([name, tensor]) => this.#executor.memory.own(action, name, tensor))
    for (const tensor of own) tensor.version++
    return own
  }

  /** Checks a list of tensors and names its members for messages. */
  #named(action: string, tensors: readonly BackendTensor[]): Record<string, BackendTensor> {
    const { memory } = this.#executor
    for (const [index, tensor] of tensors.entries()) {
      checkTensor(action, `tensors[${index}]`, tensor, { dtype: memory.dtype })
    }
    return Object.fromEntries(tensors.map((tensor, index) => [`tensors[${index}]`, tensor]))
  }

  /** Ids that are on the host are checked now; on the device a wrong one makes the result NaN. */
  #checkHostIds(action: string, name: string, ids: TensorLike, count: number): void {
    if (!isBackendTensor(ids)) checkIdValues(action, name, ids.data as Int32Array, count)
  }

  /**
   * Puts one batch together: operands on the device, then what `append` appends; what that returns makes the tensors,
   * after the batch was queued.
   */
  #batch<Operands extends Readonly<Record<string, TensorLike | undefined>>, Result>(
    action: string,
    operands: Operands,
    append: (
      on: {
        readonly [Name in keyof Operands]: Operands[Name] extends TensorLike ? DeviceBuffer : DeviceBuffer | undefined
      },
      owned: PassBuffers,
    ) => () => Result,
  ): Result {
    const { memory, session } = this.#executor
    memory.checkOwn(action, operands)
    const owned = new PassBuffers()
    let finish: (() => Result) | undefined
    try {
      session.post(() => {
        const on: Record<string, DeviceBuffer | undefined> = {}
        for (const [name, tensor] of Object.entries(operands)) {
          on[name] = tensor && owned.own(memory.operand(action, name, tensor))
        }
        finish = append(on as never, owned)
      })
    } finally {
      owned.release()
    }
    return finish!()
  }

  #alive(action: string): CudnnExecutor {
    this.#executor.memory.checkAlive(action)
    return this.#executor
  }
}
