import { checkIsObject } from '@cudnn-rnn/canonical/rules'
import { elementCount } from '@cudnn-rnn/canonical'
import { checkTensor } from '@cudnn-rnn/ops/executor'
import { checkFloats, emptyLike, type FloatTensor } from './axis_lines.js'

/** A normal distribution with independent coordinates; both tensors have one shape. */
export interface DiagonalGaussian {
  readonly mean: FloatTensor
  /** log σ² */
  readonly logVariance: FloatTensor
}

type GaussianKlResult = {
  /** [N…]: the divergence of each row, summed over the last axis. */
  readonly divergence: FloatTensor
  /** Gradients of the sum of all divergences, by each input. */
  readonly gradients: { readonly q: DiagonalGaussian; readonly p: DiagonalGaussian }
}

/**
 * Kullback-Leibler divergence of q from p (standard normal when absent) in nats, with gradients:
 * Σ ½·(log σp² - log σq² + σq²/σp² + (μq - μp)²/σp² - 1) over the last axis.
 *
 * @throws TypeError `ERR_DTYPE`, `ERR_NOT_A_TENSOR`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_SHAPE`
 * @example
 * ```ts
 * import { gaussianKl } from '@cudnn-rnn/rnn/train'
 *
 * const q = {
 *   mean: { data: Float64Array.of(1, 0), shape: [1, 2] },
 *   logVariance: { data: Float64Array.of(0, 0), shape: [1, 2] },
 * }
 * const { divergence, gradients } = gaussianKl(q)
 * console.log(divergence.data, gradients.q.mean.data) // [0.5] [1, 0]
 * ```
 */
export function gaussianKl(q: DiagonalGaussian, p?: DiagonalGaussian): GaussianKlResult {
  const action = 'compute the Gaussian divergence'
  checkIsObject(action, 'q', q)
  if (p !== undefined) checkIsObject(action, 'p', p)
  const { data, shape, dtype } = checkFloats(action, 'q.mean', q.mean)
  const zeros = { data: emptyLike(data), shape }
  const prior = p ?? { mean: zeros, logVariance: zeros }
  for (const [name, tensor] of [
    ['q.mean', q.mean],
    ['q.logVariance', q.logVariance],
    ['p.mean', prior.mean],
    ['p.logVariance', prior.logVariance],
  ] as const) {
    checkTensor(action, name, tensor, { dtype, shape })
  }
  const columns = shape.at(-1) ?? 1
  const make = () => emptyLike(q.mean.data)
  const gradients = { qMean: make(), qLogVariance: make(), pMean: make(), pLogVariance: make() }
  const divergence = emptyLike(q.mean.data, elementCount(shape.slice(0, -1)))
  for (let k = 0; k < q.mean.data.length; k++) {
    const difference = q.mean.data[k] - prior.mean.data[k]
    const logRatio = q.logVariance.data[k] - prior.logVariance.data[k]
    const ratio = Math.exp(logRatio)
    const precision = Math.exp(-prior.logVariance.data[k])
    const distance = difference * difference * precision
    divergence[Math.floor(k / columns)] += (ratio - logRatio + distance - 1) / 2
    gradients.qMean[k] = difference * precision
    gradients.pMean[k] = -difference * precision
    gradients.qLogVariance[k] = (ratio - 1) / 2
    gradients.pLogVariance[k] = (1 - ratio - distance) / 2
  }
  const tensor = (data: FloatTensor['data']): FloatTensor => ({ data, shape })
  return {
    divergence: { data: divergence, shape: shape.slice(0, -1) },
    gradients: {
      q: { mean: tensor(gradients.qMean), logVariance: tensor(gradients.qLogVariance) },
      p: { mean: tensor(gradients.pMean), logVariance: tensor(gradients.pLogVariance) },
    },
  }
}
