import type { TensorLike } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'
import {
  HOST_TENSOR_KERNELS,
  type HostMemory,
  type HostOperands,
  type HostRowName,
  type HostTensor,
  hostCtcLoss,
  hostKernels,
  type KernelNumbers,
  type OperationKernels,
  type OptimizerUpdate,
  type StatementKernels,
  TENSOR_ROWS,
  type TensorRowName,
  tensorRow,
} from '@cudnn-rnn/ops/executor'
import { embedding, embeddingGradient } from './embedding.js'
import {
  activate,
  activationGradient,
  attend,
  attendGradients,
  dropout,
  elementLoss,
  layerNorm,
  layerNormGradients,
  maskSequence,
  poolSequence,
  poolSequenceGradient,
  reverseSequence,
} from './layer_ops.js'
import { linear, linearGradients } from './linear.js'
import { applyUpdate } from './optimizer_updates.js'
import { softmaxCrossEntropy } from './softmax_cross_entropy.js'

/** Each row is one function: results, operands and numbers as that function takes them. */
const FUNCTIONS: {
  readonly [Name in Exclude<HostRowName, TensorRowName>]: (
    results: readonly FloatArray[],
    operands: HostOperands,
    numbers: KernelNumbers<Name>,
  ) => void
} = {
  linear: ([y], [x, kernel, bias], sizes) => linear(y, x, kernel, bias, sizes),
  linearGradients: ([input, kernel, bias], [x, weights, dy], sizes) =>
    linearGradients({ input, kernel, bias }, x, weights, dy, sizes),
  embedding: ([rows], [table, ids], { columns }) => embedding(rows, table, ids, columns),
  embeddingGradient: ([table], [ids, rows], { columns }) => embeddingGradient(table, ids, rows, columns),
  activate: ([y], [x], numbers) => activate(y, x, numbers, numbers),
  activationGradient: ([dx], [y, dy], numbers) => activationGradient(dx, y, dy, numbers, numbers),
  dropout: ([y], [x], mask) => dropout(y, x, mask),
  layerNorm: ([y], [x, gamma, beta], numbers) => layerNorm(y, x, gamma, beta, numbers, numbers.epsilon),
  layerNormGradients: ([input, gamma, beta], [x, scale, dy], numbers) =>
    layerNormGradients({ input, gamma, beta }, x, scale, dy, numbers, numbers.epsilon),
  maskSequence: ([y], [x, lengths], sizes) => maskSequence(y, x, lengths, sizes),
  reverseSequence: ([y], [x, lengths], sizes) => reverseSequence(y, x, lengths, sizes),
  poolSequence: ([y], [x, lengths], numbers) => poolSequence(y, x, lengths, numbers, numbers),
  poolSequenceGradient: ([dx], [x, lengths, dy], numbers) => poolSequenceGradient(dx, x, lengths, dy, numbers, numbers),
  attend: ([output, weights], [x, scores, lengths], sizes) => attend({ output, weights }, x, scores, lengths, sizes),
  attendGradients: ([input, scores], [x, weights, dy], sizes) =>
    attendGradients({ input, scores }, x, weights, dy, sizes),
  softmaxCrossEntropy([loss, gradient], [logits, labels, weights], { classes }) {
    loss[0] = softmaxCrossEntropy(gradient, logits, labels, weights, classes)
  },
  elementLoss([loss, gradient], [predictions, targets, weights], numbers) {
    loss[0] = elementLoss(gradient, predictions, targets, weights, numbers.loss, numbers)
  },
  ctcLoss([loss, rowLosses, gradient], [logits], problem) {
    loss[0] = hostCtcLoss(gradient, rowLosses, logits, problem)
  },
}

/** The operations on the JavaScript heap. */
export function referenceKernels(memory: HostMemory): OperationKernels<HostTensor> {
  return Object.assign(new ReferenceStatements(memory), {
    ...hostKernels(memory, (name) => {
      if (name in TENSOR_ROWS) return tensorRow(HOST_TENSOR_KERNELS, name as TensorRowName)
      const compute = FUNCTIONS[name as keyof typeof FUNCTIONS]
      return (results, operands, numbers) => {
        compute(results, operands, numbers as never)
        return 0
      }
    }),
    readIds: (ids: TensorLike) => memory.elements(ids) as Int32Array,
  })
}

class ReferenceStatements implements StatementKernels<HostTensor> {
  readonly #memory: HostMemory

  constructor(memory: HostMemory) {
    this.#memory = memory
  }

  /** √(Σ x²) over all tensors, in double precision. */
  norm(tensors: readonly HostTensor[], maxNorm: number): HostTensor {
    let sum = 0
    for (const { live: data } of tensors) {
      for (let index = 0; index < data.length; index++) sum += data[index] * data[index]
    }
    const norm = Math.sqrt(sum)
    // A norm that is not finite leaves the tensors as they are, for the caller to see.
    if (norm > maxNorm && Number.isFinite(norm)) {
      for (const { live: data } of tensors) {
        for (let index = 0; index < data.length; index++) data[index] *= maxNorm / norm
      }
    }
    return this.#scalar(norm)
  }

  assign(variable: HostTensor, source: TensorLike): void {
    variable.live.set(this.#memory.elements(source))
  }

  clip(tensors: readonly HostTensor[], limit: number): void {
    // All are looked at first: none is clipped if one was transferred elsewhere.
    const arrays = tensors.map(({ live: data }) => data)
    for (const data of arrays) {
      for (let index = 0; index < data.length; index++) data[index] = Math.max(-limit, Math.min(limit, data[index]))
    }
  }

  update(update: OptimizerUpdate, written: readonly HostTensor[], source: TensorLike | undefined): void {
    const data = written.map((tensor) => tensor.live as FloatArray)
    applyUpdate(update, data, source && this.#memory.floats(source))
  }

  #scalar(value: number): HostTensor {
    const data = this.#memory.allocate(1)
    data[0] = value
    return this.#memory.create([], data)
  }
}
