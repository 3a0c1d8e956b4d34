import type { DType, NestedNumbers } from '@cudnn-rnn/ops'
import { type FloatArray, Inspectable, type Summary, type Tensor } from '@cudnn-rnn/canonical'
import type { VersionedTensor } from './executor_memory.js'
import { tensorSummary } from './summaries.js'

/**
 * structuredClone() and postMessage() cannot copy a symbol: they throw a DataCloneError that quotes it, where they would
 * otherwise make an object that only looks like a tensor.
 */
const NOT_CLONEABLE: unique symbol = Symbol('tensor of an executor: read() it and send the host tensor')

/** A tensor of an executor: shape, element type and layout are fixed, and the subclass owns the elements. */
export abstract class ExecutorTensor<Data extends FloatArray | Int32Array = FloatArray>
  extends Inspectable
  implements VersionedTensor<Data>
{
  /** The first field: structuredClone() fails here. */
  readonly clone = NOT_CLONEABLE
  version = 0
  readonly #shape: readonly number[]
  readonly #dtype: DType
  readonly #layout: string | undefined

  /** A frozen `shape` is kept, any other is copied. */
  constructor(shape: readonly number[], dtype: DType, layout: string | undefined) {
    super()
    this.#shape = Object.isFrozen(shape) ? shape : Object.freeze([...shape])
    this.#dtype = dtype
    this.#layout = layout
  }

  get shape(): readonly number[] {
    return this.#shape
  }

  get dtype(): DType {
    return this.#dtype
  }

  get layout(): string | undefined {
    return this.#layout
  }

  abstract get disposed(): boolean

  abstract read(): Promise<Tensor<Data>>

  async data(): Promise<Data> {
    return (await this.read()).data
  }

  async toArray(): Promise<NestedNumbers> {
    const { data, shape } = await this.read()
    const elements = data.values()
    const nested = (axis: number): NestedNumbers =>
      axis === shape.length
        ? (elements.next().value as number)
        : Array.from({ length: shape[axis] }, () => nested(axis + 1))
    return nested(0)
  }

  abstract dispose(): void

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected override summary(): Summary {
    return tensorSummary(this)
  }
}
