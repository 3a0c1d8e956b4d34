import type { TensorLike } from '@cudnn-rnn/backend'
import { elementCount } from '@cudnn-rnn/canonical'
import type {
  Attention,
  AttentionGradients,
  ColumnBlock,
  CompleteActivation,
  CompletePool,
  DropoutMask,
  ElementLoss,
  ElementLossResult,
  HostMemory,
  HostTensor,
  KernelOperands,
  LayerKernels,
  LayerNormGradients,
  RowSizes,
  SequenceSizes,
} from '@cudnn-rnn/executor-kit'
import {
  activate,
  activationGradient,
  attend,
  attendGradients,
  copyColumns,
  dropout,
  elementLoss,
  layerNorm,
  layerNormGradients,
  multiply,
  poolSequence,
  poolSequenceGradient,
  reverseSequence,
} from './layer_ops.js'

/** The operations of layers on the JavaScript heap: each is one function of layer_ops.ts. */
export class ReferenceLayerKernels implements LayerKernels<HostTensor> {
  protected readonly memory: HostMemory

  constructor(memory: HostMemory) {
    this.memory = memory
  }

  activate({ input }: KernelOperands<'activate'>, activation: CompleteActivation, sizes: RowSizes): HostTensor {
    return this.#filled(input.shape, (y) => activate(y, this.memory.floats(input), activation, sizes))
  }

  activationGradient(
    { output, outputGradient }: KernelOperands<'activationGradient'>,
    activation: CompleteActivation,
    sizes: RowSizes,
  ): HostTensor {
    const { memory } = this
    return this.#filled(output.shape, (dx) => {
      activationGradient(dx, memory.floats(output), memory.floats(outputGradient), activation, sizes)
    })
  }

  multiply({ a, b }: KernelOperands<'multiply'>): HostTensor {
    return this.#filled(a.shape, (y) => multiply(y, this.memory.floats(a), this.memory.floats(b)))
  }

  dropout({ input }: KernelOperands<'dropout'>, mask: DropoutMask): HostTensor {
    return this.#filled(input.shape, (y) => dropout(y, this.memory.floats(input), mask))
  }

  layerNorm({ input, gamma, beta }: KernelOperands<'layerNorm'>, sizes: RowSizes, epsilon: number): HostTensor {
    const { memory } = this
    return this.#filled(input.shape, (y) => {
      layerNorm(y, memory.floats(input), memory.floats(gamma), memory.floats(beta), sizes, epsilon)
    })
  }

  layerNormGradients(
    { input, gamma, outputGradient }: KernelOperands<'layerNormGradients'>,
    sizes: RowSizes,
    epsilon: number,
  ): LayerNormGradients {
    const { memory } = this
    const gradients = {
      input: memory.allocate(sizes.rows * sizes.columns),
      gamma: memory.allocate(sizes.columns),
      beta: memory.allocate(sizes.columns),
    }
    const [x, dy] = [memory.floats(input), memory.floats(outputGradient)]
    layerNormGradients(gradients, x, memory.floats(gamma), dy, sizes, epsilon)
    return {
      input: memory.create(input.shape, gradients.input),
      gamma: memory.create([sizes.columns], gradients.gamma),
      beta: memory.create([sizes.columns], gradients.beta),
    }
  }

  concat(inputs: readonly TensorLike[], shape: readonly number[], { rows, columns }: RowSizes): HostTensor {
    return this.#filled(shape, (y) => {
      let begin = 0
      for (const input of inputs) {
        const count = input.shape[input.shape.length - 1]
        copyColumns(y, [columns, begin], this.memory.floats(input), [count, 0], rows, count)
        begin += count
      }
    })
  }

  columns({ input }: KernelOperands<'columns'>, { begin, columns, rows }: ColumnBlock, count: number): HostTensor {
    return this.#filled([...input.shape.slice(0, -1), count], (y) => {
      copyColumns(y, [count, 0], this.memory.floats(input), [columns, begin], rows, count)
    })
  }

  reverseSequence({ input, lengths }: KernelOperands<'reverseSequence'>, sizes: SequenceSizes): HostTensor {
    return this.#filled(input.shape, (y) =>
      reverseSequence(y, this.memory.floats(input), this.#lengths(lengths), sizes),
    )
  }

  poolSequence(
    { input, lengths }: KernelOperands<'poolSequence'>,
    sizes: SequenceSizes,
    pool: CompletePool,
  ): HostTensor {
    return this.#filled([sizes.batch, sizes.columns], (y) => {
      poolSequence(y, this.memory.floats(input), this.#lengths(lengths), sizes, pool)
    })
  }

  poolSequenceGradient(
    { input, lengths, outputGradient }: KernelOperands<'poolSequenceGradient'>,
    sizes: SequenceSizes,
    pool: CompletePool,
  ): HostTensor {
    const { memory } = this
    return this.#filled(input.shape, (dx) => {
      const dy = memory.floats(outputGradient)
      poolSequenceGradient(dx, memory.floats(input), this.#lengths(lengths), dy, sizes, pool)
    })
  }

  attend({ input, scores, lengths }: KernelOperands<'attend'>, sizes: SequenceSizes): Attention {
    const { memory } = this
    const results = {
      output: memory.allocate(sizes.batch * sizes.columns),
      weights: memory.allocate(sizes.time * sizes.batch),
    }
    attend(results, memory.floats(input), memory.floats(scores), this.#lengths(lengths), sizes)
    return {
      output: memory.create([sizes.batch, sizes.columns], results.output),
      weights: memory.create(scores.shape, results.weights),
    }
  }

  attendGradients(
    { input, weights, outputGradient }: KernelOperands<'attendGradients'>,
    sizes: SequenceSizes,
  ): AttentionGradients {
    const { memory } = this
    const gradients = {
      input: memory.allocate(elementCount(input.shape)),
      scores: memory.allocate(sizes.time * sizes.batch),
    }
    const dy = memory.floats(outputGradient)
    attendGradients(gradients, memory.floats(input), memory.floats(weights), dy, sizes)
    return {
      input: memory.create(input.shape, gradients.input),
      scores: memory.create(weights.shape, gradients.scores),
    }
  }

  elementLoss(
    { predictions, targets, weights }: KernelOperands<'elementLoss'>,
    loss: ElementLoss,
    sizes: RowSizes,
  ): ElementLossResult {
    const { memory } = this
    const gradient = memory.allocate(sizes.rows * sizes.columns)
    const rowWeights = weights && memory.floats(weights)
    const value = elementLoss(gradient, memory.floats(predictions), memory.floats(targets), rowWeights, loss, sizes)
    return { loss: this.scalar(value), gradient: memory.create(predictions.shape, gradient) }
  }

  protected scalar(value: number): HostTensor {
    const data = this.memory.allocate(1)
    data[0] = value
    return this.memory.create([], data)
  }

  /** A tensor of zeros, filled by `fill`. */
  #filled(shape: readonly number[], fill: (data: ReturnType<HostMemory['allocate']>) => void): HostTensor {
    const data = this.memory.allocate(elementCount(shape))
    fill(data)
    return this.memory.create(shape, data)
  }

  #lengths(lengths: TensorLike | undefined): Int32Array | undefined {
    return lengths && (this.memory.elements(lengths) as Int32Array)
  }
}
