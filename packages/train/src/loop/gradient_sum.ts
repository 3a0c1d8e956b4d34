import type { Backend, BackendTensor } from '@cudnn-rnn/backend'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { checkShape } from '@cudnn-rnn/executor-kit'
import { checkGradientCount } from '../optimizers/gradient_count.js'
import type { Trainable } from '../optimizers/trainable.js'

/** Numbers at the end of the buffer: sums over the batches of the step, and the ranks that raise a flag. */
const CONTROLS = { loss: 0, weight: 1, stopping: 2, outOfData: 3, failed: 4 } as const
const CONTROL_COUNT = Object.keys(CONTROLS).length

/** Flags that travel with the gradients. */
export type RankFlag = 'stopping' | 'outOfData' | 'failed'

/** The weighted gradients of one step in one buffer, which one all-reduce sums over all ranks. */
export class GradientSum implements Disposable {
  /** The gradients of all variables, then the controls. */
  readonly buffer: FloatArray
  /** The two parts of `buffer`. */
  readonly elements: FloatArray
  readonly controls: FloatArray
  /** The mean gradients, after {@link GradientSum.takeMeans}. */
  readonly gradients: readonly BackendTensor[]
  readonly #backend: Backend
  readonly #variables: readonly Trainable[]

  constructor(backend: Backend, variables: readonly Trainable[]) {
    this.#backend = backend
    this.#variables = variables
    this.gradients = variables.map(({ value }) => backend.zeros(value.shape, { layout: value.layout }))
    const elements = variables.reduce((sum, { value }) => sum + elementsOf(value), 0)
    const Elements = backend.dtype === 'float64' ? Float64Array : Float32Array
    this.buffer = new Elements(elements + CONTROL_COUNT)
    this.elements = this.buffer.subarray(0, elements)
    this.controls = this.buffer.subarray(elements)
  }

  /** Begins a step. */
  clear(): void {
    this.buffer.fill(0)
  }

  /** Adds the mean gradients of a batch, `weight` times. Throws RangeError `ERR_GRADIENT_COUNT`, `ERR_SHAPE`. */
  async add(loss: number, gradients: readonly BackendTensor[], weight: number): Promise<void> {
    const { buffer } = this
    const variables = this.#variables
    checkGradientCount('add gradients', gradients, variables)
    // A batch that does not count may be NaN.
    if (weight === 0) return
    let at = 0
    for (const [index, gradient] of gradients.entries()) {
      const { name, value } = variables[index]
      checkShape('add gradients', `gradient of ${name}`, gradient.shape, value.shape)
      const { data } = await gradient.read()
      for (let k = 0; k < data.length; k++) buffer[at + k] += weight * data[k]
      at += data.length
    }
    this.controls[CONTROLS.loss] += weight * loss
    this.controls[CONTROLS.weight] += weight
  }

  /** Raises a flag of this rank. */
  raise(flag: RankFlag): void {
    this.controls[CONTROLS[flag]] = 1
  }

  /** Ranks that have raised the flag, after the all-reduce. */
  count(flag: RankFlag): number {
    return this.controls[CONTROLS[flag]]
  }

  /** Writes the means over the weights of all ranks into the gradients. @returns the mean loss */
  takeMeans(): number {
    const total = this.controls[CONTROLS.weight]
    const scale = total === 0 ? 0 : 1 / total
    let at = 0
    for (const [index, { value }] of this.#variables.entries()) {
      const data = this.buffer.subarray(at, at + elementsOf(value))
      for (let k = 0; k < data.length; k++) data[k] *= scale
      this.#backend.ops.assign(this.gradients[index], { data, shape: value.shape })
      at += data.length
    }
    return this.controls[CONTROLS.loss] * scale
  }

  [Symbol.dispose](): void {
    for (const gradient of this.gradients) gradient.dispose()
  }
}

function elementsOf({ shape }: BackendTensor): number {
  return shape.reduce((product, size) => product * size, 1)
}
