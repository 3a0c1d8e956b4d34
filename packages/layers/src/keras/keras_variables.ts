import type { StoredTensor, WeightFile } from '@cudnn-rnn/interop'
import { unknownLayer } from './keras_options.js'
import type { KerasVariable } from './keras_row.js'

/** Names of layers have fewer parts: each beginning of a name is kept. */
const DEEPEST = 32

/** The variables of a file by place and number in files of Keras 3, by name in older ones; each belongs to one layer. */
export class KerasVariables {
  readonly #numbered = new Map<string, StoredTensor>()
  readonly #named = new Map<string, StoredTensor>()
  /** Keyed by a layer of the model, or by a part of it or of a model in it. */
  readonly #within = new Map<string, StoredTensor>()
  readonly #owners = new Map<StoredTensor, { readonly label: string; readonly place: string }>()

  constructor({ tensors }: WeightFile) {
    for (const tensor of tensors) {
      this.#numbered.set(tensor.name, tensor)
      const segments = tensor.name.replace(/^model_weights\//, '').split('/')
      const own = segments.pop()?.replace(/:0$/, '') ?? ''
      for (let end = 1; end <= Math.min(segments.length, DEEPEST); end++) {
        const key = `${segments.slice(0, end).join('/')}\0${own}`
        if (!this.#named.has(key)) this.#named.set(key, tensor)
        const part = `${segments[0]}\0${segments[end - 1]}\0${own}`
        if (!this.#within.has(part)) this.#within.set(part, tensor)
      }
    }
  }

  /**
   * Throws RangeError `ERR_UNKNOWN_LAYER` unless the file has them, of these shapes, for this layer alone, and no more of it.
   *
   * @param unwanted names of variables that the layer does not have by its options
   */
  take(
    label: string,
    place: string,
    name: string,
    wanted: readonly KerasVariable[],
    unwanted: readonly string[] = [],
  ): StoredTensor[] {
    if (unwanted.length > 0) {
      const left = this.#numbered.get(`${place}/vars/${wanted.length}`)
      const own = left?.name ?? unwanted.find((each) => this.find(place, name, each, -1) !== undefined)
      if (own !== undefined) throw unknownLayer(label, `by its options it must not have ${own}, which is in the file`)
    }
    return wanted.map(([own, shape], index) => {
      const numbered = `${place}/vars/${index}`
      const names = [own].flat()
      const tensor = names.map((each) => this.find(place, name, each, index)).find((each) => each !== undefined)
      if (tensor === undefined) {
        throw unknownLayer(label, `its ${own} must be in the file, at ${numbered} or below ${name}`)
      }
      if (tensor.shape.join() !== shape.join()) {
        throw unknownLayer(label, `its ${own} must have shape [${shape}]: current shape is [${tensor.shape}]`)
      }
      const owner = this.#owners.get(tensor)
      if (owner !== undefined && owner.place !== place)
        throw unknownLayer(label, `its ${own} must not be that of ${owner.label}, too`)
      this.#owners.set(tensor, { label, place })
      return tensor
    })
  }

  /** Throws RangeError `ERR_UNKNOWN_LAYER` if beside the variables of a layer there is one that the layer does not have. */
  checkAllTaken(): void {
    const labels = new Map([...this.#owners].map(([{ name }, { label }]) => [folderOf(name), label]))
    for (const tensor of this.#numbered.values()) {
      const label = labels.get(folderOf(tensor.name))
      // A normalization counts its batches.
      if (label === undefined || this.#owners.has(tensor) || tensor.shape.length === 0) continue
      throw unknownLayer(label, `by its options it must not have ${tensor.name}, which is in the file`)
    }
  }

  /** @param own its name, `query/kernel` of a part of the layer */
  find(place: string, name: string, own: string, index: number): StoredTensor | undefined {
    const [last, ...parts] = own.split('/').reverse() as [string, ...string[]]
    const [part] = parts
    if (part === undefined) {
      const [group, ...inner] = name.split('/')
      const within = inner.length === 0 ? undefined : this.#within.get(`${group}\0${inner.at(-1)}\0${last}`)
      return this.#numbered.get(`${place}/vars/${index}`) ?? this.#named.get(`${name}\0${last}`) ?? within
    }
    const numbered = this.#numbered.get(`${place}/${part}_dense/vars/${last === 'bias' ? 1 : 0}`)
    return (
      numbered ?? this.#named.get(`${name}/${part}\0${last}`) ?? this.#named.get(`${name}/${name}/${part}\0${last}`)
    )
  }
}

function folderOf(name: string): string {
  return name.slice(0, name.lastIndexOf('/') + 1)
}
