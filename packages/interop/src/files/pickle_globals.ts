import type { PickleContext } from './pickle_context.js'
import { PickleDict, PickleGlobal, PickleStorage, PickleTensor, type PickleValue } from './pickle_values.js'

const ORDERED_DICT = 'collections.OrderedDict'
const REBUILD_TENSOR = 'torch._utils._rebuild_tensor_v2'
const REBUILD_PARAMETER = 'torch._utils._rebuild_parameter'
const STORAGE = /^torch\.(\w+Storage)$/
const DTYPE = /^torch\.[a-z]+\d*$/

/** Storages are numbered: their keys are a few digits. */
const LONGEST_KEY = 255
/** As in PyTorch. */
const MOST_AXES = 64

/** Whether a pickle may name this global. No other can occur in a value, and none is ever called. */
export function isAllowedGlobal(path: string): boolean {
  return [ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER].includes(path) || STORAGE.test(path) || DTYPE.test(path)
}

/** The storage of a persistent id `('storage', <class>, key, location, count)`. */
export function storageOf(context: PickleContext, id: PickleValue): PickleStorage {
  const [tag, type, key, , count] = Array.isArray(id) ? id : []
  const className = type instanceof PickleGlobal ? STORAGE.exec(type.path)?.[1] : undefined
  const isNamed = typeof key === 'string' && key.length <= LONGEST_KEY
  if (tag === 'storage' && className !== undefined && isNamed && isCount(count)) {
    return new PickleStorage(className, key, count)
  }
  throw context.wrong('its pickle refers to a value that is not a storage')
}

/** Replaces a call on the stack by the value that it would return. */
export function reduce(context: PickleContext): void {
  const parameters = context.pop()
  const called = context.pop()
  if (!(called instanceof PickleGlobal) || !Array.isArray(parameters)) {
    throw context.wrong('its pickle calls a value that is not a function')
  }
  if (called.path === ORDERED_DICT && parameters.length === 0) {
    context.push(new PickleDict())
    return
  }
  if (called.path === REBUILD_PARAMETER && parameters[0] instanceof PickleTensor) {
    context.push(parameters[0])
    return
  }
  const [storage, offset, shape, strides] = parameters
  if (
    called.path === REBUILD_TENSOR &&
    storage instanceof PickleStorage &&
    isCount(offset) &&
    isCounts(shape) &&
    isCounts(strides) &&
    shape.length === strides.length
  ) {
    context.push(new PickleTensor(storage, offset, shape, strides))
    return
  }
  throw context.wrong(`its pickle calls ${called.path} with other parameters than a tensor's`)
}

function isCount(value: PickleValue | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isCounts(value: PickleValue | undefined): value is number[] {
  return Array.isArray(value) && value.length <= MOST_AXES && value.every(isCount)
}
