import { elementCount } from '@cudnn-rnn/canonical'
import { dataTypeInWords, type ElementTypeName } from '@cudnn-rnn/interop/internal'
import { codedRangeError } from './coded_error.js'
import type { GraphFile } from './fold/graph_file.js'
import type { Constant } from './fold/known_value.js'
import { namedSizes } from './fold/open_sizes.js'

/** Constants in place of inputs, and numbers in place of open sizes. */
export type FixedValues = Readonly<
  Record<string, number | { readonly data: ArrayLike<number>; readonly shape: readonly number[] }>
>

/** Throws RangeError `ERR_GRAPH_FIXED`. */
export function fixedValues({ model, path }: GraphFile, fixed: FixedValues) {
  const { inputs: values, initializers } = model.graph
  const stored = new Set(initializers.map(({ name }) => name))
  const own = values.filter(({ name }) => !stored.has(name))
  const open = new Set(own.flatMap((value) => namedSizes(value).filter((size) => typeof size === 'string')))
  const [inputs, sizes] = [new Map<string, Constant>(), new Map<string, number>()]
  for (const [name, given] of Object.entries(fixed)) {
    const refuse = (rule: string) => {
      const known = [...own.map((value) => value.name), ...open].join(', ')
      return codedRangeError(
        'ERR_GRAPH_FIXED',
        `Cannot open a graph as fixed.${name} must be ${rule}: the graph has the inputs and open sizes ${known}: ${path}`,
        { option: 'fixed', name, value: given },
      )
    }
    const input = own.find((value) => value.name === name)
    if (input !== undefined) {
      const type = dataTypeInWords(input.dataType) as ElementTypeName
      const constant = constantFor(type, input.dims?.map((size) => (typeof size === 'number' ? size : 1)) ?? [], given)
      if (constant === undefined) throw refuse(`of ${type} and of the input's shape`)
      inputs.set(name, constant)
    } else if (!open.has(name)) throw refuse('an input or an open size')
    else if (typeof given !== 'number' || !Number.isSafeInteger(given) || given < 1) throw refuse('an integer >= 1')
    else sizes.set(name, given)
  }
  return { inputs, sizes }
}

function constantFor(
  type: ElementTypeName,
  sizes: readonly number[],
  given: FixedValues[string],
): Constant | undefined {
  const { data, shape } = typeof given === 'number' ? { data: [given], shape: sizes } : given
  const elements = Float64Array.from(data, Number)
  const isInteger = !type.includes('float')
  if (elements.length !== elementCount(shape) || shape.length !== sizes.length) return undefined
  if (elements.some((element) => Number.isNaN(element) || (isInteger && !Number.isSafeInteger(element))))
    return undefined
  return type === 'float16' || type === 'bfloat16' || type.startsWith('data type')
    ? undefined
    : { type, shape, elements }
}
