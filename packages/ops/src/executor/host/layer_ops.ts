import type { FloatArray } from '@cudnn-rnn/canonical'
import { elementwiseFunction } from './elementwise_function.js'
import { DROPOUT_COUNTER, type DropoutMask, eachWord } from '../operations/dropout_mask.js'
import type { ElementLoss } from '../operations/operation_types.js'
import type { HostRowName, KernelNumbers } from '../operations/table.js'
import { floatAt } from './float_at.js'
import type { HostFunction } from './host_kernels.js'
import { sigmoid } from './sigmoid.js'

type SequenceSizes = KernelNumbers<'attend'>
type CompletePool = Pick<KernelNumbers<'poolSequence'>, 'pooling' | 'reversedFrom'>

/** Softmax of `count` elements that begin at `begin`, `stride` apart. */
function softmaxLine(y: FloatArray, x: FloatArray, begin: number, stride: number, count: number): void {
  let maximum = Number.NEGATIVE_INFINITY
  for (let k = 0; k < count; k++) maximum = Math.max(maximum, floatAt(x, begin + k * stride))
  let sum = 0
  for (let k = 0; k < count; k++) sum += Math.exp(floatAt(x, begin + k * stride) - maximum)
  for (let k = 0; k < count; k++) y[begin + k * stride] = Math.exp(floatAt(x, begin + k * stride) - maximum) / sum
}

function softmaxLineGradient(
  dx: FloatArray,
  y: FloatArray,
  dy: FloatArray,
  begin: number,
  stride: number,
  count: number,
): void {
  let overlap = 0
  for (let k = 0; k < count; k++) overlap += floatAt(y, begin + k * stride) * floatAt(dy, begin + k * stride)
  for (let k = 0; k < count; k++) {
    const at = begin + k * stride
    dx[at] = floatAt(y, at) * (floatAt(dy, at) - overlap)
  }
}

/** Mean of a row, and one over the root of its variance. */
function moments(x: FloatArray, begin: number, columns: number, epsilon: number) {
  let sum = 0
  for (let k = 0; k < columns; k++) sum += floatAt(x, begin + k)
  const mean = sum / columns
  let squares = 0
  for (let k = 0; k < columns; k++) squares += (floatAt(x, begin + k) - mean) ** 2
  return { mean, scale: 1 / Math.sqrt(squares / columns + epsilon) }
}

/** The step that `last` or `max` takes: the first of equal maxima, or the first NaN. */
function chosenStep(
  x: FloatArray,
  at: (t: number) => number,
  length: number,
  column: number,
  { pooling, reversedFrom }: CompletePool,
): number {
  if (pooling === 'last') return column < reversedFrom ? length - 1 : 0
  let chosen = 0
  for (let t = 1; t < length; t++) {
    const [best, value] = [floatAt(x, at(chosen)), floatAt(x, at(t))]
    if (value > best || (Number.isNaN(value) && !Number.isNaN(best))) chosen = t
  }
  return chosen
}

/** Calls `visit` for every column of every row of a sequence, with the places of its steps. */
function forEachLine(
  lengths: Int32Array | undefined,
  { time, batch, columns }: SequenceSizes,
  visit: (at: (t: number) => number, line: number, length: number, column: number) => void,
): void {
  for (let b = 0; b < batch; b++) {
    for (let k = 0; k < columns; k++) {
      const line = b * columns + k
      visit((t) => t * batch * columns + line, line, lengths?.[b] ?? time, k)
    }
  }
}

/**
 * Loss of one element and its derivative with respect to the prediction p. Sources:
 * tf.nn.sigmoid_cross_entropy_with_logits.
 */
const ELEMENT_LOSSES: Readonly<Record<ElementLoss, (p: number, target: number) => readonly [number, number]>> = {
  squared_error: (p, target) => [(p - target) ** 2, 2 * (p - target)],
  absolute_error: (p, target) => [Math.abs(p - target), Math.sign(p - target)],
  sigmoid_cross_entropy: (p, target) => [
    Math.max(p, 0) - p * target + Math.log1p(Math.exp(-Math.abs(p))),
    sigmoid(p) - target,
  ],
}

/** The layer operations in TypeScript: the function of each row fills its results, which hold zeros. */
export const LAYER_FUNCTIONS = {
  /** y = f(x), softmax over rows of `columns`. */
  activate([y], [x], { activation, maximum, rows, columns }) {
    if (activation !== 'softmax') {
      const { value } = elementwiseFunction(activation)
      for (let k = 0; k < y.length; k++) y[k] = Math.min(maximum, value(floatAt(x, k)))
      return
    }
    for (let n = 0; n < rows; n++) softmaxLine(y, x, n * columns, 1, columns)
  },

  /** ∂x = ∂y·f'; for softmax, y∘(∂y - Σ y·∂y). */
  activationGradient([dx], [y, dy], { activation, maximum, rows, columns }) {
    if (activation !== 'softmax') {
      const { slope } = elementwiseFunction(activation)
      const isBounded = Number.isFinite(maximum)
      for (let k = 0; k < dx.length; k++) {
        const value = floatAt(y, k)
        dx[k] = isBounded && value >= maximum ? 0 : floatAt(dy, k) * slope(value)
      }
      return
    }
    for (let n = 0; n < rows; n++) softmaxLineGradient(dx, y, dy, n * columns, 1, columns)
  },

  /** y = x·mask, as {@link DropoutMask} draws it. */
  dropout([y], [x], mask: DropoutMask) {
    eachWord(y.length, mask, DROPOUT_COUNTER, (k, words) => {
      y[k] = words[k % 4] >>> 8 < mask.threshold ? 0 : floatAt(x, k) * mask.kept
    })
  },

  /** y = gamma·(x - mean)/√(variance + ε) + beta, row by row. */
  layerNorm([y], [x, gamma, beta], { rows, columns, epsilon }) {
    for (let n = 0; n < rows; n++) {
      const { mean, scale } = moments(x, n * columns, columns, epsilon)
      for (let k = 0; k < columns; k++) {
        y[n * columns + k] = (floatAt(x, n * columns + k) - mean) * scale * floatAt(gamma, k) + floatAt(beta, k)
      }
    }
  },

  /** With z = (x - mean)/σ and g = gamma·∂y: ∂x = (g - mean(g) - z·mean(g·z))/σ; ∂gamma = Σ ∂y·z, ∂beta = Σ ∂y. */
  layerNormGradients([dInput, dGamma, dBeta], [x, gamma, dy], { rows, columns, epsilon }) {
    const [ofGamma, ofBeta] = [new Float64Array(columns), new Float64Array(columns)]
    for (let n = 0; n < rows; n++) {
      const begin = n * columns
      const { mean, scale } = moments(x, begin, columns, epsilon)
      let [sum, overlap] = [0, 0]
      for (let k = 0; k < columns; k++) {
        const z = (floatAt(x, begin + k) - mean) * scale
        const g = floatAt(gamma, k) * floatAt(dy, begin + k)
        sum += g
        overlap += g * z
        ofGamma[k] = floatAt(ofGamma, k) + floatAt(dy, begin + k) * z
        ofBeta[k] = floatAt(ofBeta, k) + floatAt(dy, begin + k)
      }
      for (let k = 0; k < columns; k++) {
        const z = (floatAt(x, begin + k) - mean) * scale
        dInput[begin + k] =
          scale * (floatAt(gamma, k) * floatAt(dy, begin + k) - sum / columns - (z * overlap) / columns)
      }
    }
    dGamma.set(ofGamma)
    dBeta.set(ofBeta)
  },

  /** y[t,b] = x[t,b] within a row's length, else 0. */
  maskSequence([y], [x, lengths], { time, batch, columns }) {
    for (let n = 0; n < time * batch; n++) {
      if (Math.floor(n / batch) >= (lengths?.[n % batch] ?? time)) continue
      for (let k = n * columns; k < (n + 1) * columns; k++) y[k] = floatAt(x, k)
    }
  },

  /** y[t,b] = x[length-1-t,b] within a row's length, else 0. */
  reverseSequence([y], [x, lengths], { time, batch, columns }) {
    for (let b = 0; b < batch; b++) {
      const length = lengths?.[b] ?? time
      for (let t = 0; t < length; t++) {
        const [to, from] = [(t * batch + b) * columns, ((length - 1 - t) * batch + b) * columns]
        for (let k = 0; k < columns; k++) y[to + k] = floatAt(x, from + k)
      }
    }
  },

  /** y [B,E] from x [T,B,E]. */
  poolSequence([y], [x, lengths], numbers) {
    forEachLine(lengths, numbers, (at, line, length, column) => {
      if (length === 0) return
      if (numbers.pooling === 'mean') {
        let sum = 0
        for (let t = 0; t < length; t++) sum += floatAt(x, at(t))
        y[line] = sum / length
      } else {
        y[line] = floatAt(x, at(chosenStep(x, at, length, column, numbers)))
      }
    })
  },

  /** ∂x [T,B,E] from ∂y [B,E]. */
  poolSequenceGradient([dx], [x, lengths, dy], numbers) {
    forEachLine(lengths, numbers, (at, line, length, column) => {
      if (length === 0) return
      if (numbers.pooling === 'mean') for (let t = 0; t < length; t++) dx[at(t)] = floatAt(dy, line) / length
      else dx[at(chosenStep(x, at, length, column, numbers))] = floatAt(dy, line)
    })
  },

  /** weights [T,B] = softmax of the scores over a row's steps; output [B,E] = Σ_t weights·x. */
  attend([output, weights], [x, scores, lengths], { time, batch, columns }) {
    for (let b = 0; b < batch; b++) {
      const length = lengths?.[b] ?? time
      softmaxLine(weights, scores, b, batch, length)
      for (let k = 0; k < columns; k++) {
        let sum = 0
        for (let t = 0; t < length; t++)
          sum += floatAt(weights, t * batch + b) * floatAt(x, (t * batch + b) * columns + k)
        output[b * columns + k] = sum
      }
    }
  },

  /** ∂x = weights·∂y; with ∂w[t,b] = Σ_e x·∂y the scores' gradient is weights∘(∂w - Σ_t weights·∂w). */
  attendGradients([dInput, dScores], [x, weights, dy], { time, batch, columns }) {
    const dWeights = new Float64Array(time * batch)
    for (let n = 0; n < time * batch; n++) {
      const b = n % batch
      const weight = floatAt(weights, n)
      for (let k = 0; k < columns; k++) {
        const slope = floatAt(dy, b * columns + k)
        // Without a weight, as past a row's end, x may hold any value, NaN included.
        if (weight !== 0) dWeights[n] = floatAt(dWeights, n) + floatAt(x, n * columns + k) * slope
        dInput[n * columns + k] = weight * slope
      }
    }
    for (let b = 0; b < batch; b++) softmaxLineGradient(dScores, weights, dWeights, b, batch, time)
  },

  /** The loss: mean over the columns of a row and, weighted, over rows. */
  elementLoss([loss, gradient], [predictions, targets, weights], { loss: name, rows, columns }) {
    let total = weights === undefined ? rows : 0
    for (const weight of weights ?? []) total += weight
    if (total === 0) return
    const rule = ELEMENT_LOSSES[name]
    let sum = 0
    for (let n = 0; n < rows; n++) {
      const weight = (weights?.[n] ?? 1) / total / columns
      // A row without weight may hold any values.
      if (weight === 0) continue
      for (let k = n * columns; k < (n + 1) * columns; k++) {
        const [value, slope] = rule(floatAt(predictions, k), floatAt(targets, k))
        sum += weight * value
        gradient[k] = weight * slope
      }
    }
    loss[0] = sum
  },
} satisfies { readonly [Name in HostRowName]?: HostFunction<Name> }
