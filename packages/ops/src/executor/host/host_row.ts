import type { HostRowName, TensorRowName } from '../operations/table.js'
import { TENSOR_ROWS } from '../operations/tensor_rows.js'
import { hostCtcLoss } from './ctc_loss.js'
import { embedding, embeddingGradient } from './embedding.js'
import type { HostCompute, HostFunction } from './host_kernels.js'
import { LAYER_FUNCTIONS } from './layer_ops.js'
import { linear, linearGradients } from './linear.js'
import { softmaxCrossEntropy } from './softmax_cross_entropy.js'
import { HOST_TENSOR_KERNELS, tensorRow } from './tensor_rows.js'

const FUNCTIONS: { readonly [Name in Exclude<HostRowName, TensorRowName>]: HostFunction<Name> } = {
  ...LAYER_FUNCTIONS,
  ...{ linear, linearGradients },
  embedding: ([rows], [table, ids], { columns }) => embedding(rows, table, ids, columns),
  embeddingGradient: ([table], [ids, rows], { columns }) => embeddingGradient(table, ids, rows, columns),
  softmaxCrossEntropy([loss, gradient], [logits, labels, weights], { classes }) {
    loss[0] = softmaxCrossEntropy(gradient, logits, labels, weights, classes)
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
