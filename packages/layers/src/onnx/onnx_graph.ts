import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { NodeToWrite } from '@cudnn-rnn/interop'
import type { Variable } from '@cudnn-rnn/models'
import type { FloatDType } from '@cudnn-rnn/ops'
import { ofDtype } from '@cudnn-rnn/ops/executor'

export type OnnxAttributes = NonNullable<NodeToWrite['attributes']>

type Constant = Tensor<FloatArray> | readonly number[]

/** A graph that grows layer by layer. */
export class OnnxGraph {
  readonly dtype: FloatDType
  readonly nodes: NodeToWrite[] = []
  readonly initializers: Record<string, Constant> = {}
  readonly #reserved: ReadonlySet<string>
  #layer = ''
  #count = 0
  #constants = 0

  /** @param reserved names of inputs and outputs */
  constructor(dtype: FloatDType, reserved: readonly string[]) {
    this.dtype = dtype
    this.#reserved = new Set(reserved)
  }

  /** Begins a call of a layer, whose name is a prefix of its values' names. All calls have the same constants. */
  enter(layer: string): void {
    this.#layer = layer
    this.#constants = 0
  }

  /** The output of a new node. */
  node(opType: string, inputs: readonly string[], attributes: OnnxAttributes = {}, outputs = [this.fresh()]): string {
    this.nodes.push({ opType, name: this.fresh('node'), inputs, outputs, attributes })
    return outputs[0]
  }

  floats(value: Tensor<FloatArray>): string {
    return this.#initializer(ofDtype(this.dtype, value))
  }

  scalar(value: number): string {
    return this.floats({ data: Float64Array.of(value), shape: [] })
  }

  integers(...values: readonly number[]): string {
    return this.#initializer(values)
  }

  async variable({ value }: Pick<Variable, 'value'>): Promise<string> {
    const { data, shape } = await value.read()
    return this.floats({ data: data.slice() as FloatArray, shape })
  }

  transposed(x: string, perm: readonly number[]): string {
    return this.node('Transpose', [x], { perm })
  }

  reshaped(x: string, ...shape: readonly number[]): string {
    return this.node('Reshape', [x, this.integers(...shape)])
  }

  /** Elements from `begin` to `end` along an axis. */
  sliced(x: string, axis: number, begin: number, end: number, step = 1): string {
    return this.node('Slice', [x, ...[begin, end, axis, step].map((value) => this.integers(value))])
  }

  fresh(kind = 'value'): string {
    for (;;) {
      const name = `${this.#layer}_${kind}_${this.#count++}`
      if (!this.#reserved.has(name)) return name
    }
  }

  #initializer(value: Constant): string {
    for (;;) {
      const name = `${this.#layer}_constant_${this.#constants++}`
      const known = this.initializers[name]
      if (this.#reserved.has(name) || (known !== undefined && !isSame(known, value))) continue
      this.initializers[name] = value
      return name
    }
  }
}

function isSame(a: Constant, b: Constant): boolean {
  const [[own, shape], [other, otherShape]] = [a, b].map((each) => ('data' in each ? [each.data, each.shape] : [each]))
  return (
    String(shape) === String(otherShape) && own.length === other.length && own.every((value, k) => value === other[k])
  )
}
