import type { FloatArray } from '@cudnn-rnn/canonical'
import type { HostRowName, KernelNumbers, TensorRowName } from '../operations/table.js'
import { TENSOR_ROWS } from '../operations/tensor_rows.js'
import { hostCtcLoss } from './ctc_loss.js'
import { embedding, embeddingGradient } from './embedding.js'
import type { HostCompute, HostOperands } from './host_kernels.js'
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
import { softmaxCrossEntropy } from './softmax_cross_entropy.js'
import { HOST_TENSOR_KERNELS, tensorRow } from './tensor_rows.js'

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

/** One row in TypeScript, done when it returns. */
export function hostRow(name: HostRowName): HostCompute {
  if (name in TENSOR_ROWS) return tensorRow(HOST_TENSOR_KERNELS, name as TensorRowName)
  const compute = FUNCTIONS[name as keyof typeof FUNCTIONS]
  return (results, operands, numbers) => {
    compute(results, operands, numbers as never)
    return 0
  }
}
