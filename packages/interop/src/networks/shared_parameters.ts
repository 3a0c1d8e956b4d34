import type { AbortSignalLike, CanonicalParams, FloatArray, NamedTensors, RnnDescriptor } from '@cudnn-rnn/canonical'
import { madeIn } from '@cudnn-rnn/canonical/rules'
import type { StoredTensor } from '../stored_tensor.js'
import { readGroups } from './tensor_groups.js'

type Elements = StoredTensor['read']

export interface UsedTensors {
  /** Tensors that other interpretations must not use. */
  readonly tensors: readonly StoredTensor[]
  /** Tensors that other networks may share, such as a zero bias that an exporter stores once. */
  readonly alsoUses?: readonly StoredTensor[]
}

/**
 * Networks of a file may share tensors: nodes of one graph that name the same initializers, modules of one storage. Here
 * shared tensors are read once, and networks of the same tensors and sizes share their canonical parameters, so that
 * memory depends on the size of the file and not on the number of networks.
 */
export class SharedParameters {
  /** The tensors of the file, whose elements are kept until the last interpretation that needs them. */
  readonly tensors: readonly StoredTensor[]
  /** Number of each distinct `read`; it distinguishes tensors of different elements. */
  readonly #signal: AbortSignalLike | undefined
  readonly #originals: ReadonlyMap<StoredTensor, StoredTensor>
  readonly #ids = new Map<Elements, number>()
  readonly #readers = new Map<Elements, Elements>()
  readonly #uses = new Map<Elements, number>()
  readonly #held = new Map<Elements, Promise<FloatArray>>()
  readonly #descriptors = new WeakMap<RnnDescriptor, string>()
  readonly #canonical = new Map<string, Promise<CanonicalParams<FloatArray>>>()

  /** @param signal once it is aborted, reads reject with its reason. */
  constructor(tensors: readonly StoredTensor[], signal?: AbortSignalLike) {
    this.#signal = signal
    this.tensors = tensors.map((tensor) => ({ ...tensor, read: this.#reader(tensor.read) }))
    this.#originals = new Map(tensors.map((tensor, index) => [tensor, this.tensors[index] ?? tensor]))
  }

  /** The one of `tensors` for a tensor of the file; another tensor itself. */
  of(tensor: StoredTensor): StoredTensor {
    return this.#originals.get(tensor) ?? tensor
  }

  /** Counts how often the elements of each tensor will be requested. */
  expect(interpretations: readonly UsedTensors[]): void {
    for (const { tensors, alsoUses = [] } of interpretations) {
      for (const { read } of [...tensors, ...alsoUses]) this.#uses.set(read, (this.#uses.get(read) ?? 0) + 1)
    }
  }

  /**
   * The canonical parameters that `convert` makes of a group of tensors; of equal groups and descriptors the same arrays.
   *
   * @param convert depends only on its argument and `descriptor`.
   */
  canonical(
    descriptor: RnnDescriptor,
    group: ReadonlyMap<string, StoredTensor>,
    convert: (tensors: NamedTensors) => CanonicalParams<FloatArray>,
  ): Promise<CanonicalParams<FloatArray>> {
    const places = [...group].map(([own, { read, shape }]) => [
      own,
      madeIn(this.#ids, read, () => this.#ids.size),
      shape,
    ])
    const sizes = madeIn(this.#descriptors, descriptor, () => JSON.stringify(Object.values(descriptor)))
    return madeIn(this.#canonical, `${sizes}${JSON.stringify(places)}`, async () => {
      const [tensors] = await readGroups([group])
      return convert(tensors)
    })
  }

  #reader(read: Elements): Elements {
    return madeIn(this.#readers, read, () => {
      const reader: Elements = () => {
        if (this.#signal?.aborted) return Promise.reject(this.#signal.reason)
        const left = (this.#uses.get(reader) ?? 0) - 1
        this.#uses.set(reader, left)
        const elements = this.#held.get(reader) ?? read()
        if (left > 0) this.#held.set(reader, elements)
        else this.#held.delete(reader)
        return elements
      }
      return reader
    })
  }
}
