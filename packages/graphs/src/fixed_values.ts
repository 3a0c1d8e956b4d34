import { elementCount } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { dataTypeInWords, type ElementTypeName, newElements, type OnnxValueMessage } from '@cudnn-rnn/interop/internal'
import type { GraphFile } from './fold/graph_file.js'
import type { Constant } from './fold/known_value.js'
import { namedSizes } from './fold/open_sizes.js'

/** Constants in place of inputs, and numbers in place of open sizes. */
export type FixedValues = Readonly<
  Record<string, number | { readonly data: ArrayLike<number>; readonly shape: readonly number[] }>
>

/** Throws RangeError `ERR_GRAPH_FIXED`. */
export function fixedValues({ inputs: values, path }: GraphFile, fixed: FixedValues) {
  const open = new Set(values.flatMap(namedSizes).filter((size) => typeof size === 'string'))
  const [inputs, sizes] = [new Map<string, Constant>(), new Map<string, number>()]
  for (const [name, given] of Object.entries(fixed)) {
    const refuse = (rule: string) => {
      const known = [...values.map((value) => value.name), ...open].join(', ')
      return codedRangeError(
        'ERR_GRAPH_FIXED',
        `Cannot open a graph as fixed.${name} must be ${rule}: the graph has the inputs and open sizes ${known}: ${path}`,
        { option: 'fixed', name, value: given },
      )
    }
    const input = values.find((value) => value.name === name)
    if (input !== undefined) {
      const constant = constantFor(input, given)
      if (constant === undefined) throw refuse(`of ${dataTypeInWords(input.dataType)} and of the input's shape`)
      inputs.set(name, constant)
    } else if (!open.has(name)) throw refuse('an input or an open size')
    else if (typeof given !== 'number' || !Number.isSafeInteger(given) || given < 1) throw refuse('an integer >= 1')
    else sizes.set(name, given)
  }
  return { inputs, sizes }
}

function constantFor({ dataType, dims = [] }: OnnxValueMessage, given: FixedValues[string]): Constant | undefined {
  const type = dataTypeInWords(dataType) as ElementTypeName
  const sizes = dims.map((size) => (typeof size === 'number' ? size : 1))
  const { data, shape } = typeof given === 'number' ? { data: [given], shape: sizes } : given
  const elements = Float64Array.from(data, Number)
  const isElement = type.includes('float') ? (element: number) => !Number.isNaN(element) : Number.isSafeInteger
  const isWritten = newElements(type, 0) !== undefined && !type.endsWith('float16')
  const fits = elements.length === elementCount(shape) && shape.length === dims.length && elements.every(isElement)
  return isWritten && fits ? { type, shape, elements } : undefined
}
