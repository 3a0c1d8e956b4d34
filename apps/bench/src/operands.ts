import { type CanonicalParams, elementCount, paramRegions, type Tensor } from '@cudnn-rnn/canonical'
import { Philox } from '@cudnn-rnn/rnn/executors'
import { type Workload, workloadDescriptor } from './workload.js'

/** What every implementation of a comparison is given. */
export interface Operands {
  readonly canonical: CanonicalParams<Float32Array>
  /** [T,B,I], uniform in ±1. */
  readonly input: Tensor<Float32Array>
  /** [T,B,D·H], uniform in ±1: the gradient that training starts from. */
  readonly outputGradient: Tensor<Float32Array>
}

/** Operands of a workload, the same for the same seed. Weights are uniform in ±1/√H, as PyTorch draws them. */
export function makeOperands(workload: Workload, seed: number): Operands {
  const { time, batch, inputSize, numUnits, bidirectional } = workload
  const random = new Philox(seed)
  const uniform = (shape: readonly number[], limit: number): Tensor<Float32Array> => {
    const data = new Float32Array(elementCount(shape))
    for (let i = 0; i < data.length; i++) data[i] = limit * (2 * random.uniform() - 1)
    return { data, shape }
  }
  const regions = paramRegions(workloadDescriptor(workload))
  const limit = 1 / Math.sqrt(numUnits)
  return {
    canonical: {
      weights: regions.weights.map(({ shape }) => uniform(shape, limit)),
      biases: regions.biases.map(({ shape }) => uniform(shape, limit)),
    },
    input: uniform([time, batch, inputSize], 1),
    outputGradient: uniform([time, batch, (bidirectional ? 2 : 1) * numUnits], 1),
  }
}
