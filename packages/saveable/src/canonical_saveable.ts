import { type CanonicalParams, codedRangeError, type RnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import type { CanonicalToParams, ParamsToCanonical, ParamVariable } from './param_variable.js'
import type { ExpectedTensor, KeyedTensors, Naming, Saveable } from './saveable.js'

/** How a saveable writes canonical tensors: keys and tensors one way, canonical tensors the other. */
export interface KeyScheme {
  /** Whether an opaque buffer comes back bit for bit, or its biases as sums. */
  toKeys(descriptor: RnnDescriptor, canonical: CanonicalParams): ReadonlyMap<string, Tensor>
  fromKeys(descriptor: RnnDescriptor, tensors: ReadonlyMap<string, Tensor>): CanonicalParams
  /** Old files label shapes otherwise; then element counts are compared. */
  readonly anyShape: boolean
  /** Whether a key could belong to this scheme, for another structure. */
  owns(key: string): boolean
}

/** Opaque parameters (or an optimizer's slot of them) saved through their canonical tensors. */
export abstract class CanonicalSaveable implements Saveable {
  readonly name: string
  readonly #paramsToCanonical: ParamsToCanonical
  readonly #canonicalToParams: CanonicalToParams
  readonly #variables: readonly ParamVariable[]

  /**
   * @param paramVariables the first is saved; all of them are restored, as in TensorFlow.
   * @throws RangeError `ERR_NO_VARIABLE`
   */
  constructor(
    paramsToCanonical: ParamsToCanonical,
    canonicalToParams: CanonicalToParams,
    paramVariables: readonly ParamVariable[],
    name: string,
  ) {
    if (paramVariables.length === 0) {
      throw codedRangeError(
        'ERR_NO_VARIABLE',
        `Cannot make saveable ${name} as it needs at least one variable: current number is 0`,
      )
    }
    this.name = name
    this.#paramsToCanonical = paramsToCanonical
    this.#canonicalToParams = canonicalToParams
    this.#variables = paramVariables
  }

  protected abstract scheme(naming: Naming): KeyScheme

  async tensors(naming: Naming): Promise<KeyedTensors> {
    const { descriptor, weights, biases } = await this.#canonical()
    return this.scheme(naming).toKeys(descriptor, { weights, biases })
  }

  async expected(naming: Naming): Promise<ReadonlyMap<string, ExpectedTensor>> {
    const { anyShape } = this.scheme(naming)
    const expected = [...(await this.tensors(naming))].map(([key, { data, shape }]): [string, ExpectedTensor] => [
      key,
      { shape, dtype: data instanceof Float64Array ? 'float64' : 'float32', anyShape },
    ])
    return new Map(expected)
  }

  owns(key: string, naming: Naming): boolean {
    return this.scheme(naming).owns(key)
  }

  async prepare(tensors: KeyedTensors, naming: Naming): Promise<() => Promise<void>> {
    const { descriptor } = await this.#canonical()
    const { weights, biases } = this.scheme(naming).fromKeys(descriptor, tensors as ReadonlyMap<string, Tensor>)
    const params = await this.#canonicalToParams(weights, biases)
    return async () => {
      for (const variable of this.#variables) await variable.assign(params as never)
      params.dispose?.()
    }
  }

  #canonical() {
    const [variable] = this.#variables
    return this.#paramsToCanonical(variable!.value as never)
  }
}
