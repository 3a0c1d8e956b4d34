import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import type { NodeToWrite } from '@cudnn-rnn/interop'
import type { Variable } from '@cudnn-rnn/models'
import type { FloatDType } from '@cudnn-rnn/ops'
import { ofDtype } from '@cudnn-rnn/ops/executor'

export type OnnxAttributes = NonNullable<NodeToWrite['attributes']>

/** A graph that grows layer by layer. */
export class OnnxGraph {
  readonly dtype: FloatDType
  readonly nodes: NodeToWrite[] = []
  readonly initializers: Record<string, Tensor<FloatArray> | readonly number[]> = {}
  /** The current layer's name, a prefix of its nodes' names. */
  layer = ''
  #count = 0

  constructor(dtype: FloatDType) {
    this.dtype = dtype
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
    return `${this.layer}_${kind}_${this.#count++}`
  }

  #initializer(value: Tensor<FloatArray> | readonly number[]): string {
    const name = this.fresh('constant')
    this.initializers[name] = value
    return name
  }
}
