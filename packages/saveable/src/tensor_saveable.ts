import {
  checkArguments,
  codedTypeError,
  describeValue,
  entryOf,
  FUNCTION,
  MAP,
  methods,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import { dtypeOfArray } from '@cudnn-rnn/checkpoint'
import type { ParamVariable } from './param_variable.js'
import type { ExpectedTensor, KeyedTensors, NumericTensor, Saveable } from './saveable.js'

const ARGUMENTS = { name: TEXT, get: FUNCTION, set: FUNCTION, describe: FUNCTION }
const VARIABLE = methods('a variable with assign()', 'assign')
const VALUE = methods('a tensor with read()', 'read')

/**
 * A plain tensor under its own name: an embedding, a dense layer, an optimizer's moment, the step.
 *
 * @example
 * ```ts
 * import { Saver, TensorSaveable } from '@cudnn-rnn/rnn/saveable'
 *
 * let step = { data: Int32Array.of(100), shape: [] as number[] }
 * const saveable = new TensorSaveable('global_step', () => step, (tensor) => {
 *   step = tensor as typeof step
 * })
 * const prefix = await new Saver([saveable]).save('run/model')
 * step = { data: Int32Array.of(0), shape: [] }
 * await new Saver([saveable]).restore(prefix)
 * console.log(step.data) // [100]
 * ```
 */
export class TensorSaveable implements Saveable {
  readonly name: string
  readonly #get: () => NumericTensor | Promise<NumericTensor>
  readonly #set: (tensor: NumericTensor) => void | Promise<void>
  readonly #describe: () => ExpectedTensor | Promise<ExpectedTensor>

  /**
   * @param get the tensor to save; a restore expects its shape and type.
   * @param set takes the tensor restored, of the same shape and type.
   * @param describe shape and type, if they are known without reading the tensor; by default `get`'s.
   */
  constructor(
    name: string,
    get: () => NumericTensor | Promise<NumericTensor>,
    set: (tensor: NumericTensor) => void | Promise<void>,
    describe: () => ExpectedTensor | Promise<ExpectedTensor> = async () => described(await get()),
  ) {
    checkArguments('make saveable', { name, get, set, describe }, ARGUMENTS)
    this.name = name
    this.#get = get
    this.#set = set
    this.#describe = describe
  }

  /** The saveable of a variable under the variable's own name. */
  static of(variable: ParamVariable): TensorSaveable {
    checkArguments('make saveable', { variable }, { variable: VARIABLE })
    checkArguments('make saveable', { value: variable.value }, { value: VALUE })
    const { dtype } = variable.value
    return new TensorSaveable(
      variable.name,
      () => variable.value.read(),
      (tensor) => variable.assign(tensor as never),
      dtype === undefined ? undefined : () => ({ shape: variable.value.shape, dtype }),
    )
  }

  async tensors(): Promise<KeyedTensors> {
    return new Map([[this.name, await this.#get()]])
  }

  async expected(): Promise<ReadonlyMap<string, ExpectedTensor>> {
    return new Map([[this.name, await this.#describe()]])
  }

  owns(): boolean {
    return false
  }

  async prepare(tensors: KeyedTensors): Promise<() => void | Promise<void>> {
    checkArguments(`restore ${this.name}`, { tensors }, { tensors: MAP })
    const tensor = entryOf(tensors, this.name)
    return () => this.#set(tensor)
  }
}

function described(tensor: NumericTensor): ExpectedTensor {
  const dtype = dtypeOfArray(tensor?.data)
  if (dtype !== undefined && Array.isArray(tensor.shape)) return { shape: tensor.shape, dtype }
  throw codedTypeError(
    'ERR_INVALID_ARGUMENT',
    `Cannot save as get must return a tensor { data: typed array, shape: number[] }: current value is ${describeValue(tensor)}`,
  )
}
