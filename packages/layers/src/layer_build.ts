import { describeValue, elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { checkArguments, checkedElsewhere, codedRangeError, kind, TEXT } from '@cudnn-rnn/canonical/rules'
import { Variable } from '@cudnn-rnn/models'
import { type Backend, DTYPES } from '@cudnn-rnn/ops'
import { allocating, checkDimensions, Philox } from '@cudnn-rnn/ops/executor'
import { checkedHostTensor } from './forwarded.js'

/** Fills the initial values of a variable of `shape`; `random` is the layer's own. */
export type LayerInitializerFunction = (values: FloatArray, shape: readonly number[], random: Philox) => void

/**
 * How a variable begins: drawn from ±√(6/(fan in + fan out)) (Glorot & Bengio 2010) or from ±limit, a constant, filled by a
 * function, or as a tensor of its shape, such as one of a weight file.
 */
export type LayerInitializer =
  | 'glorot_uniform'
  | { readonly uniform: number }
  | number
  | LayerInitializerFunction
  | Tensor<FloatArray>

/** Rule of an option that is one: {@link LayerBuild.variables} checks it, against the variable's shape. */
export const INITIALIZER = checkedElsewhere<LayerInitializer | undefined>()

type VariableSpec = readonly [own: string, shape: readonly number[], initializer: LayerInitializer]

/** A model whose variables are read from a file: they begin as zeros, and have no more elements together than the file. */
export interface FileVariables {
  readonly elements: number
  /** The error for a layer beyond that. */
  readonly refusal: (layer: string, elements: number) => Error
}

/** Initial values of plain layers draw from separate streams, after the streams of masks (0) and recurrent networks (1). */
const FIRST_STREAM = 2

/**
 * The state that layers share while a model is built: the executor, names, and the random numbers of one seed.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { LayerBuild } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const build = new LayerBuild(backend, 1)
 * console.log(build.nameOf(undefined, 'dense'), build.nameOf(undefined, 'dense')) // dense dense_1
 * const [kernel] = build.variables('dense', [['kernel', [3, 2], 'glorot_uniform']])
 * console.log(kernel?.name, kernel?.shape) // dense/kernel [3, 2]
 * ```
 */
export class LayerBuild {
  readonly backend: Backend
  readonly seed: number
  /** By kind: the number of the next layer without a given name. */
  readonly #counts = new Map<string, number>()
  readonly #names = new Set<string>()
  /** Names of layers that are still to be built. */
  readonly #reserved = new Set<string>()
  #stream = FIRST_STREAM
  #recurrent = 0
  #masks = 0

  readonly #file: FileVariables | undefined
  /** Elements of the file that no variable has yet. */
  #left: number

  constructor(backend: Backend, seed = 0, file?: FileVariables) {
    this.backend = backend
    this.#file = file
    this.#left = file?.elements ?? 0
    this.seed = seed
    // Throws if the seed is invalid.
    new Philox(seed)
  }

  /** Keeps names that users gave for the layers that are built later. Throws TypeError `ERR_INVALID_ARGUMENT`. */
  reserve(names: readonly (string | undefined)[]): void {
    const { names: own } = checkArguments('reserve names', { names }, { names: NAMES })
    for (const name of own) if (name !== undefined) this.#reserved.add(name)
  }

  /** `given`, or `base`, `base_1`, … as Keras numbers layers. Throws RangeError `ERR_INVALID_OPTION` for a name in use. */
  nameOf(given: string | undefined, base: string): string {
    if (given !== undefined) {
      if (typeof given !== 'string' || !NAME.test(given) || this.#names.has(given)) {
        throw codedRangeError(
          'ERR_INVALID_OPTION',
          `Cannot build a layer as its name must be of letters, digits, ".", "_" and "-", and its own: current value is ${describeValue(given)}`,
          { option: 'name', value: given },
        )
      }
      this.#names.add(given)
      return given
    }
    for (;;) {
      const count = this.#counts.get(base) ?? 0
      this.#counts.set(base, count + 1)
      const name = count === 0 ? base : `${base}_${count}`
      if (this.#names.has(name) || this.#reserved.has(name)) continue
      this.#names.add(name)
      return name
    }
  }

  /**
   * Whether the variables of a layer begin as zeros, because they are read from a file; checks that the file has as many
   * elements before any are allocated.
   */
  startsAtZero(layer: string, elements: number): boolean {
    if (this.#file === undefined) return false
    this.#left -= elements
    if (this.#left >= 0) return true
    throw this.#file.refusal(layer, elements)
  }

  /** A generator for one layer's initial values. */
  random(): Philox {
    return new Philox(this.seed, this.#stream++)
  }

  /** A seed for the initial values and masks of one recurrent network: the first has the model's own. */
  recurrentSeed(): number {
    return (this.seed + this.#recurrent++) % Number.MAX_SAFE_INTEGER
  }

  /** A seed for the masks of one dropout layer. */
  maskSeed(): number {
    return (this.seed + this.#masks++) % Number.MAX_SAFE_INTEGER
  }

  /**
   * The variables of one layer, `<layer>/<own name>`, with initial values from one generator. If one cannot be made, the
   * others are disposed.
   *
   * @throws RangeError `ERR_OUT_OF_MEMORY`, `ERR_INVALID_OPTION`, `ERR_SHAPE`; TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`,
   *   `ERR_INVALID_ARGUMENT`
   */
  variables(layer: string, specs: readonly VariableSpec[]): Variable[] {
    const { specs: rows } = checkArguments('build variables', { layer, specs }, { layer: TEXT, specs: SPECS })
    const random = this.random()
    const made: Variable[] = []
    try {
      for (const [own, shape, initializer] of rows) {
        made.push(this.variable(`${layer}/${own}`, shape, initializer, random))
      }
      return made
    } catch (error) {
      for (const variable of made) variable.dispose()
      throw error
    }
  }

  /** @throws RangeError `ERR_OUT_OF_MEMORY`, `ERR_SHAPE` */
  variable(name: string, shape: readonly number[], initializer: LayerInitializer, random: Philox): Variable {
    checkDimensions(`build ${name}`, shape)
    if (this.startsAtZero(name, elementCount(shape))) return new Variable(this.backend, this.backend.zeros(shape), name)
    const { array } = DTYPES[this.backend.dtype]
    const values: FloatArray = allocating('build a layer', () => new array(elementCount(shape)))
    if (isTensor(initializer)) values.set(checkedValues(name, shape, initializer))
    else fill(values, shape, initializer, random)
    return new Variable(this.backend, this.backend.tensor({ data: values, shape }), name)
  }
}

export const NAME = /^[A-Za-z0-9._-]+$/
const NAMES = kind('an array of names', Array.isArray)
const SPECS = kind(
  'an array of triples [name, shape, initializer]',
  (specs): specs is readonly VariableSpec[] => Array.isArray(specs) && [...specs].every(isSpec),
)

function isSpec(spec: unknown): boolean {
  return Array.isArray(spec) && typeof spec[0] === 'string' && Array.isArray(spec[1]) && spec[2] !== undefined
}

function isTensor(initializer: LayerInitializer): initializer is Tensor<FloatArray> {
  return typeof initializer === 'object' && initializer !== null && 'data' in initializer
}

/** The elements of a given tensor. Throws RangeError `ERR_SHAPE`; TypeError `ERR_NOT_A_TENSOR`, `ERR_DTYPE`. */
function checkedValues(name: string, shape: readonly number[], given: Tensor<FloatArray>): FloatArray {
  const { data } = checkedHostTensor('build a layer', name, given)
  if (String(given.shape) === String(shape)) return data
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot build a layer as ${name} must have shape [${shape.join(',')}]: current shape is [${String(given.shape)}]`,
    { name, expected: shape, actual: given.shape },
  )
}

function fill(
  values: FloatArray,
  shape: readonly number[],
  initializer: Exclude<LayerInitializer, Tensor<FloatArray>>,
  random: Philox,
): void {
  if (typeof initializer === 'function') {
    initializer(values, shape, random)
    return
  }
  if (typeof initializer === 'number' && Number.isFinite(initializer)) {
    values.fill(initializer)
    return
  }
  const [rows = 1, columns = rows] = shape
  let limit = Number.NaN
  if (initializer === 'glorot_uniform') limit = Math.sqrt(6 / (rows + columns))
  else if (typeof initializer === 'object' && initializer !== null) limit = initializer.uniform
  if (!(limit >= 0 && Number.isFinite(limit))) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot build a layer as an initializer must be glorot_uniform, { uniform: limit }, a number, a function or a tensor: current value is ${describeValue(initializer)}`,
      { value: initializer },
    )
  }
  random.fillUniform(values, limit)
}
