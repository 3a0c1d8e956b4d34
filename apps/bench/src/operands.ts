import { type CanonicalParams, elementCount, type ParamRegion, paramRegions, type Tensor } from '@cudnn-rnn/canonical'
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

/**
 * A pre-activation closer to 0 than the rounding of its sum passes relu in one implementation and not in another, and
 * the gradients of its row at all steps before differ. RNN relu 64 × 50 × 1024 with weights of ±1/√H has some of them.
 * So biases of ±2.5 decide which units are active: inputs add at most 1.8 (5.5 standard deviations at I = H), outputs of
 * relu, by weights of a tenth, 0.3.
 */
const RELU_BIAS = 2.5
const RELU_OUTPUT_WEIGHTS = 0.1

/**
 * Operands of a workload, the same for the same seed. Weights are uniform in ±1/√H, as PyTorch draws them; RNN relu has
 * no pre-activation near 0.
 */
export function makeOperands(workload: Workload, seed: number): Operands {
  const { time, batch, inputSize, numUnits, bidirectional } = workload
  const random = new Philox(seed)
  const uniform = (shape: readonly number[], limit: number): Tensor<Float32Array> => {
    const data = new Float32Array(elementCount(shape))
    random.fillUniform(data, limit)
    return { data, shape }
  }
  const regions = paramRegions(workloadDescriptor(workload))
  const limit = 1 / Math.sqrt(numUnits)
  const isRelu = workload.cellMode === 'rnn_relu'
  const weightOf = ({ shape, side, layer }: ParamRegion) =>
    uniform(shape, isRelu && (side === 'recurrent' || layer > 0) ? RELU_OUTPUT_WEIGHTS * limit : limit)
  const biasOf = ({ shape }: ParamRegion) => {
    const bias = uniform(shape, limit)
    // Half of the bias on each side.
    for (let unit = 0; isRelu && unit < bias.data.length; unit++) bias.data[unit] += (unit % 2 ? -0.5 : 0.5) * RELU_BIAS
    return bias
  }
  return {
    canonical: { weights: regions.weights.map(weightOf), biases: regions.biases.map(biasOf) },
    input: uniform([time, batch, inputSize], 1),
    outputGradient: uniform([time, batch, (bidirectional ? 2 : 1) * numUnits], 1),
  }
}
