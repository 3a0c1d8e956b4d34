import {
  type CanonicalParams,
  describeValue,
  type FloatArray,
  type ParamRegion,
  type ParamRegions,
} from '@cudnn-rnn/canonical'
import { checkedElsewhere, codedRangeError, FINITE, type OptionsOf, optional } from '@cudnn-rnn/canonical/rules'
import { Philox } from '@cudnn-rnn/ops/executor'

/** Fills one canonical tensor: `values` [size of region], drawing from `random`. */
type InitializerFunction = (values: FloatArray, region: ParamRegion, random: Philox) => void

/** A function, or a named one, or the constant that fills the tensor. */
type Initializer = InitializerFunction | 'glorot_uniform' | 'orthogonal' | number

// Philox checks the seed, initialCanonical the initializers.
const INITIALIZER = checkedElsewhere<Initializer | undefined>()

/** Rules of {@link InitializerOptions}. */
export const INITIALIZER_OPTIONS = {
  /** Seed of the initial values; an integer ≥ 0. Default 0. */
  seed: checkedElsewhere<number | undefined>(),
  /** Default `glorot_uniform`, drawn for each canonical tensor [H, columns] separately, as TensorFlow's layer does. */
  kernelInitializer: INITIALIZER,
  /** Default 0. Both biases of a gate are filled, so a constant counts twice in the pre-activation, as in TensorFlow. */
  biasInitializer: INITIALIZER,
  /** LSTM: added to the input-side forget bias. Default 0, as in TensorFlow's CudnnLSTM (its CPU cells add 1). */
  forgetBias: optional(FINITE),
}

/** How `createParams` fills a new opaque buffer. */
export interface InitializerOptions extends OptionsOf<typeof INITIALIZER_OPTIONS> {}

/**
 * Canonical tensors filled by the initializers, in canonical order from one generator.
 *
 * @param allocate makes a zeroed array of the executor's dtype.
 */
export function initialCanonical(
  regions: ParamRegions,
  options: InitializerOptions,
  allocate: (length: number) => FloatArray,
): CanonicalParams {
  const { forgetBias = 0 } = options
  const random = new Philox(options.seed ?? 0, INITIALIZER_STREAM)
  const tensor = (region: ParamRegion, initializer: Initializer) => {
    const data = allocate(region.size)
    if (region.size > 0) initializerFunction(initializer)(data, region, random)
    return { data, shape: region.shape }
  }
  const weights = regions.weights.map((region) => tensor(region, options.kernelInitializer ?? 'glorot_uniform'))
  const biases = regions.biases.map((region) => {
    const bias = tensor(region, options.biasInitializer ?? 0)
    if (region.gate === 'forget' && region.side === 'input') {
      for (let unit = 0; unit < bias.data.length; unit++) bias.data[unit] += forgetBias
    }
    return bias
  })
  return { weights, biases }
}

/** Keeps initial weights and dropout masks of one seed apart. */
const INITIALIZER_STREAM = 1

function initializerFunction(initializer: Initializer): InitializerFunction {
  if (typeof initializer === 'function') return initializer
  if (typeof initializer === 'number' && Number.isFinite(initializer)) return (values) => void values.fill(initializer)
  if (initializer === 'glorot_uniform') return glorotUniform
  if (initializer === 'orthogonal') return orthogonal
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot create parameters as an initializer must be glorot_uniform, orthogonal, a finite number or a function: current value is ${describeValue(initializer)}`,
    { value: initializer },
  )
}

/** Uniform in ±√(6 / (rows + columns)); Glorot & Bengio 2010, as TensorFlow's `glorot_uniform_initializer`. */
const glorotUniform: InitializerFunction = (values, { shape }, random) => {
  const [rows = 1, columns = rows] = shape
  const limit = Math.sqrt(6 / (rows + columns))
  random.fillUniform(values, limit)
}

/** Orthonormal rows or columns, whichever are fewer: Gram-Schmidt on normal vectors (Saxe et al. 2014). */
const orthogonal: InitializerFunction = (values, { shape }, random) => {
  const [rows = 1, columns = 1] = shape
  const count = Math.min(rows, columns)
  const length = Math.max(rows, columns)
  const vectors: Float64Array[] = []
  while (vectors.length < count) {
    const vector = Float64Array.from({ length }, () => random.normal())
    // Twice, as one pass leaves rounding errors of the size of the removed components.
    for (const other of [...vectors, ...vectors]) {
      const overlap = dot(vector, other)
      for (let index = 0; index < length; index++) vector[index] -= overlap * other[index]
    }
    const norm = Math.sqrt(dot(vector, vector))
    if (norm > 1e-6) vectors.push(vector.map((value) => value / norm))
  }
  for (const [index, vector] of vectors.entries()) {
    for (const [position, value] of vector.entries()) {
      values[rows <= columns ? index * columns + position : position * columns + index] = value
    }
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, index) => sum + value * b[index], 0)
}
