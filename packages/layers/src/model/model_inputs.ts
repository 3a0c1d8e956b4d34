import { describeValue, type Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { type FloatDType, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { isValue } from '@cudnn-rnn/ops/executor'
import type { LayerInput } from '../forwarded.js'
import { checkedLengths, checkedTensor, type SequenceLengths } from '../layer.js'
import type { ModelGraph, PlanInput } from './model_graph.js'

export type NamedInputs = Readonly<Record<string, LayerInput>>

/** The checked inputs of a model in their order, with their lengths. */
export class ModelInputs {
  readonly values: readonly LayerInput[]
  readonly lengths: readonly (Int32Array | null)[]

  constructor(values: readonly LayerInput[], lengths: readonly (Int32Array | null)[]) {
    this.values = values
    this.lengths = lengths
  }
}

/** Whether tensors are given by names. */
export function isNamed<Element>(given: unknown): given is Readonly<Record<string, Element>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || ArrayBuffer.isView(given)) return false
  if (isValue(given) || isBackendTensor(given)) return false
  const { data, shape } = given as Partial<Tensor>
  return !(ArrayBuffer.isView(data) || Array.isArray(data)) && !Array.isArray(shape)
}

/** Whether the inputs, labels and losses of a model have names: not with one input and one output. */
export function isNamedModel({ inputs, outputs }: Pick<ModelGraph, 'inputs' | 'outputs'>): boolean {
  return inputs.length > 1 || outputs.length > 1
}

/** Throws RangeError `ERR_MODEL_INPUTS` unless the names of `given` are the inputs' or outputs'. */
export function checkNamed<Element>(
  action: string,
  what: string,
  parts: readonly { readonly name: string }[],
  given: unknown,
): Readonly<Record<string, Element>> {
  const names = parts.map(({ name }) => name)
  if (isNamed<Element>(given) && !(given instanceof Promise)) {
    const known = new Set(names)
    const [missing] = names.filter((name) => !Object.hasOwn(given, name))
    const [unknown] = Object.keys(given).filter((name) => !known.has(name))
    if (missing === undefined && unknown === undefined) return given
    const current = missing === undefined ? `${unknown} is none of them` : `${missing} is missing`
    throw otherNames(action, what, names, current)
  }
  throw otherNames(action, what, names, `current value is ${describeValue(given)}`)
}

function otherNames(action: string, what: string, names: readonly string[], current: string) {
  return codedRangeError(
    'ERR_MODEL_INPUTS',
    `Cannot ${action} as ${what} must be { ${names.join(', ')} }: ${current}`,
    {
      names,
    },
  )
}

/** The inputs of a model, checked. Throws RangeError `ERR_MODEL_INPUTS`, `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`. */
export function namedInputs(
  action: string,
  inputs: readonly PlanInput[],
  given: unknown,
  lengths: SequenceLengths,
  dtype: FloatDType,
): ModelInputs {
  const named = checkNamed<LayerInput>(action, 'its inputs', inputs, given)
  const values = inputs.map(({ name, signal }) => checkedTensor(action, `input ${name}`, named[name], signal, dtype))
  const rows = inputs.map(({ signal }, k) => values[k].shape[Number(signal.isSequence)])
  const other = rows.findIndex((count) => count !== rows[0])
  if (other !== -1) {
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${action} as all inputs must have as many rows: ${inputs[0].name} has ${rows[0]}, ${inputs[other].name} has ${rows[other]}`,
      { name: inputs[other].name, expected: rows[0], actual: rows[other] },
    )
  }
  return new ModelInputs(values, lengthsByInput(action, inputs, values, lengths))
}

export function lengthsByInput(
  action: string,
  inputs: readonly PlanInput[],
  values: readonly Pick<TensorLike, 'shape'>[],
  lengths: SequenceLengths | undefined,
): (Int32Array | null)[] {
  if (lengths === null || lengths === undefined) return inputs.map(() => null)
  const isByName = isNamed<Int32Array>(lengths)
  const names = inputs.map(({ name }) => name)
  const unknown = isByName ? Object.keys(lengths).find((name) => !names.includes(name)) : undefined
  if (unknown !== undefined) throw otherNames(action, 'its sequenceLengths', names, `${unknown} is none of them`)
  return inputs.map(({ name, signal }, k) => {
    const own = isByName ? lengths[name] : signal.isSequence ? (lengths as Int32Array) : null
    return checkedLengths(action, values[k] as LayerInput, signal, own)
  })
}

/** Throws RangeError `ERR_MODEL_INPUTS`: a model has not one input or output. */
export function oneOfModel(action: string, what: string, parts: readonly { readonly name: string }[]): never {
  const names = parts.map(({ name }) => name).join(', ')
  throw codedRangeError(
    'ERR_MODEL_INPUTS',
    `Cannot ${action} as the model must have one ${what}: current ones are ${names}`,
  )
}
