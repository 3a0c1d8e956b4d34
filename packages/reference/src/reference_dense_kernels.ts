import type { TensorLike } from '@cudnn-rnn/backend'
import { elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import {
  type CtcLossResult,
  type CtcProblem,
  type DenseKernels,
  type HostTensor,
  hostCtcLoss,
  type KernelOperands,
  type LinearGradients,
  type LinearSizes,
  type OptimizerUpdate,
  type SoftmaxCrossEntropyResult,
} from '@cudnn-rnn/executor-kit'
import { embedding, embeddingGradient } from './embedding.js'
import { linear, linearGradients } from './linear.js'
import { applyUpdate } from './optimizer_updates.js'
import { ReferenceLayerKernels } from './reference_layer_kernels.js'
import { softmaxCrossEntropy } from './softmax_cross_entropy.js'

/** The dense operations on the JavaScript heap: each is one function of the file named for it. */
export class ReferenceDenseKernels extends ReferenceLayerKernels implements DenseKernels<HostTensor> {
  linear({ input, kernel, bias }: KernelOperands<'linear'>, sizes: LinearSizes): HostTensor {
    const memory = this.memory
    const output = memory.allocate(sizes.rows * sizes.outputs)
    linear(output, memory.floats(input), memory.floats(kernel), memory.floats(bias), sizes)
    return memory.create([...input.shape.slice(0, -1), sizes.outputs], output)
  }

  linearGradients(
    { input, kernel, outputGradient }: KernelOperands<'linearGradients'>,
    sizes: LinearSizes,
  ): LinearGradients {
    const memory = this.memory
    const gradients = {
      input: memory.allocate(sizes.rows * sizes.inputs),
      kernel: memory.allocate(sizes.inputs * sizes.outputs),
      bias: memory.allocate(sizes.outputs),
    }
    linearGradients(gradients, memory.floats(input), memory.floats(kernel), memory.floats(outputGradient), sizes)
    return {
      input: memory.create(input.shape, gradients.input),
      kernel: memory.create(kernel.shape, gradients.kernel),
      bias: memory.create([sizes.outputs], gradients.bias),
    }
  }

  readIds(ids: TensorLike): Int32Array {
    return this.memory.elements(ids) as Int32Array
  }

  embedding({ table, ids }: KernelOperands<'embedding'>, columns: number): HostTensor {
    const values = this.readIds(ids)
    const rows = this.memory.allocate(values.length * columns)
    embedding(rows, this.memory.floats(table), values, columns)
    return this.memory.create([...ids.shape, columns], rows)
  }

  embeddingGradient(
    { ids, outputGradient }: KernelOperands<'embeddingGradient'>,
    { vocabulary, columns }: { readonly vocabulary: number; readonly columns: number },
  ): HostTensor {
    const gradient = this.memory.allocate(vocabulary * columns)
    embeddingGradient(gradient, this.readIds(ids), this.memory.floats(outputGradient), columns)
    return this.memory.create([vocabulary, columns], gradient)
  }

  softmaxCrossEntropy(
    { logits, labels, weights }: KernelOperands<'softmaxCrossEntropy'>,
    { classes }: { readonly classes: number },
  ): SoftmaxCrossEntropyResult {
    const memory = this.memory
    const gradient = memory.allocate(elementCount(logits.shape))
    const rowWeights = weights && memory.floats(weights)
    const loss = softmaxCrossEntropy(gradient, memory.floats(logits), this.readIds(labels), rowWeights, classes)
    return { loss: this.scalar(loss), logitsGradient: memory.create(logits.shape, gradient) }
  }

  ctcLoss({ logits }: KernelOperands<'ctcLoss'>, problem: CtcProblem): CtcLossResult {
    const memory = this.memory
    const gradient = memory.allocate(elementCount(logits.shape))
    const rowLosses = memory.allocate(problem.batch)
    const loss = hostCtcLoss(gradient, rowLosses, memory.floats(logits), problem)
    return {
      loss: this.scalar(loss),
      rowLosses: memory.create([problem.batch], rowLosses),
      logitsGradient: memory.create(logits.shape, gradient),
    }
  }

  /** √(Σ x²) over all tensors, in double precision. */
  norm(tensors: readonly HostTensor[], maxNorm: number): HostTensor {
    let sum = 0
    for (const { data } of tensors) {
      for (let index = 0; index < data.length; index++) sum += data[index] * data[index]
    }
    const norm = Math.sqrt(sum)
    // A norm that is not finite leaves the tensors as they are, for the caller to see.
    if (norm > maxNorm && Number.isFinite(norm)) {
      for (const { data } of tensors) {
        for (let index = 0; index < data.length; index++) data[index] *= maxNorm / norm
      }
    }
    return this.scalar(norm)
  }

  assign(variable: HostTensor, source: TensorLike): void {
    variable.data.set(this.memory.elements(source))
  }

  clip(tensors: readonly HostTensor[], limit: number): void {
    // All are looked at first: none is clipped where one was transferred elsewhere.
    const arrays = tensors.map(({ data }) => data)
    for (const data of arrays) {
      for (let index = 0; index < data.length; index++) data[index] = Math.max(-limit, Math.min(limit, data[index]))
    }
  }

  update(update: OptimizerUpdate, written: readonly HostTensor[], source: TensorLike | undefined): void {
    const data = written.map((tensor) => tensor.data as FloatArray)
    applyUpdate(update, data, source && this.memory.floats(source))
  }
}
