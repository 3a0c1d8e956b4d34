import {
  type CanonicalParams,
  type FloatArray,
  paramRegions,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import {
  checkArguments,
  codedRangeError,
  FUNCTION,
  fields,
  integerFrom,
  listOf,
  MAP,
  OBJECT,
  oneOf,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import { type KeyScheme, type SchemePart, selected, toKeys } from './key_scheme.js'
import type { CanonicalToParams, ParamsToCanonical, ParamVariable } from './param_variable.js'
import { ownsKey, type SavedNetwork } from './parsed_key.js'
import {
  type ExpectedTensor,
  type KeyedTensor,
  type KeyedTensors,
  NAMINGS,
  type Naming,
  type Saveable,
} from './saveable.js'
import { DEFAULT_NAME, schemeOf } from './storage_form.js'

const ARGUMENTS = {
  name: TEXT,
  paramsToCanonical: FUNCTION,
  canonicalToParams: FUNCTION,
  paramVariables: listOf(fields({ value: OBJECT, assign: FUNCTION }, 'a variable with a value and assign()')),
}
const NAMING = oneOf(NAMINGS)
const NOTHING: ReadonlySet<number> = new Set()
const TENSOR = fields({ data: OBJECT, shape: listOf(integerFrom(0)) }, 'a tensor')

interface Structure {
  readonly descriptor: RnnDescriptor
  readonly dtype: 'float32' | 'float64'
}

/** Opaque parameters (or an optimizer's slot of them) saved through their canonical tensors. */
export abstract class CanonicalSaveable implements Saveable {
  readonly name: string
  readonly #paramsToCanonical: ParamsToCanonical
  readonly #canonicalToParams: CanonicalToParams
  readonly #saved: ParamVariable
  readonly #variables: readonly ParamVariable[]
  /** The variables' structure; they never change it. Known after the first read, as only a read gives it. */
  #structure: Structure | undefined

  /**
   * @param paramVariables the first is saved; all of them are restored, as in TensorFlow.
   * @throws TypeError `ERR_INVALID_ARGUMENT`; RangeError `ERR_NO_VARIABLE`
   */
  constructor(
    paramsToCanonical: ParamsToCanonical,
    canonicalToParams: CanonicalToParams,
    paramVariables: readonly ParamVariable[],
    name = DEFAULT_NAME,
  ) {
    checkArguments('make saveable', { name, paramsToCanonical, canonicalToParams, paramVariables }, ARGUMENTS)
    const [saved] = paramVariables
    if (saved === undefined) {
      throw codedRangeError(
        'ERR_NO_VARIABLE',
        `Cannot make saveable ${name} as it needs at least one variable: current number is 0`,
      )
    }
    this.name = name
    this.#paramsToCanonical = paramsToCanonical
    this.#canonicalToParams = canonicalToParams
    this.#saved = saved
    this.#variables = [...paramVariables]
  }

  /** The places of the parameters in a checkpoint of this naming. */
  protected abstract savedNetwork(naming: Naming): SavedNetwork

  protected scheme(naming: Naming): KeyScheme {
    const { form, name } = this.savedNetwork(naming)
    return schemeOf(form, name)
  }

  async tensors(naming: Naming): Promise<KeyedTensors> {
    checkArguments(`save ${this.name}`, { naming }, { naming: NAMING })
    const { structure, tensors } = await this.#read()
    return toKeys(this.scheme(naming), structure.descriptor, tensors)
  }

  /** Like {@link tensors}, ascending by key; converts the canonical tensors of one key, or of one cell, at a time. */
  async *stream(naming: Naming): AsyncGenerator<KeyedTensor> {
    checkArguments(`save ${this.name}`, { naming }, { naming: NAMING })
    const first = await this.#read(NOTHING)
    const { descriptor } = first.structure
    // If the function ignores the selection, one conversion serves all parts.
    const all = isWhole(first.tensors) ? first.tensors : undefined
    const firstKey = ({ keys }: SchemePart) => keys.toSorted()[0] ?? ''
    for (const part of this.scheme(naming)
      .parts(descriptor)
      .toSorted((a, b) => (firstKey(a) < firstKey(b) ? -1 : 1))) {
      const tensors = all ?? (await this.#read(new Set(part.numbers))).tensors
      yield* [...part.toKeys(selected(part, tensors))].sort(([a], [b]) => (a < b ? -1 : 1))
    }
  }

  async expected(naming: Naming): Promise<ReadonlyMap<string, ExpectedTensor>> {
    checkArguments(`restore ${this.name}`, { naming }, { naming: NAMING })
    const { anyShape, shapes } = this.scheme(naming)
    const { descriptor, dtype } = this.#structure ?? (await this.#read(NOTHING)).structure
    return new Map([...shapes(descriptor)].map(([key, shape]) => [key, { shape, dtype, anyShape }]))
  }

  owns(key: string, naming: Naming): boolean {
    checkArguments(`restore ${this.name}`, { key, naming }, { key: TEXT, naming: NAMING })
    return ownsKey(this.savedNetwork(naming), key)
  }

  async prepare(tensors: KeyedTensors, naming: Naming): Promise<() => Promise<void>> {
    checkArguments(`restore ${this.name}`, { tensors, naming }, { tensors: MAP, naming: NAMING })
    const { descriptor } = this.#structure ?? (await this.#read(NOTHING)).structure
    const scheme = this.scheme(naming)
    for (const key of scheme.shapes(descriptor).keys())
      checkArguments(`restore ${this.name}`, { [key]: tensors.get(key) }, { [key]: TENSOR })
    return this.#converted(scheme.fromKeys(descriptor, tensors as ReadonlyMap<string, Tensor>))
  }

  /** Assigns all weights, then all biases, each in canonical order. */
  protected async assignInOrder(tensors: readonly Tensor<FloatArray>[]): Promise<void> {
    const { descriptor } = this.#structure ?? (await this.#read(NOTHING)).structure
    const count = paramRegions(descriptor).weights.length
    const assign = await this.#converted({ weights: tensors.slice(0, count), biases: tensors.slice(count) })
    await assign()
  }

  /** Converts canonical tensors; the function returned assigns all variables. */
  async #converted({ weights, biases }: CanonicalParams): Promise<() => Promise<void>> {
    const params = await this.#canonicalToParams(weights, biases)
    return async () => {
      for (const variable of this.#variables) await variable.assign(params as never)
      params.dispose?.()
    }
  }

  async #read(selection?: ReadonlySet<number>) {
    const { descriptor, weights, biases } = await this.#paramsToCanonical(this.#saved.value as never, selection)
    const structure: Structure = {
      descriptor,
      dtype: weights[0]?.data instanceof Float64Array ? 'float64' : 'float32',
    }
    this.#structure = structure
    return { structure, tensors: [...weights, ...biases] }
  }
}

/** Whether the function that made the tensors ignores a selection. */
function isWhole(tensors: readonly Tensor[]): boolean {
  return tensors.some(({ data }) => data.length > 0)
}
