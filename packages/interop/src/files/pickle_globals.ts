import type { PickleMachine } from './pickle_machine.js'
import {
  PickleDict,
  PickleGlobal,
  PickleObject,
  PickleStorage,
  PickleTensor,
  type PickleValue,
  UnreadTensor,
} from './pickle_values.js'

const STORAGE = /^torch\.(?:\w+\.)*(\w+Storage)$/

/** Storages are numbered: their keys are a few digits. */
const LONGEST_KEY = 255
/** PyTorch's limit. */
const MOST_AXES = 64

/** Values in place of calls by the function or class that Python would call; undefined for parameters that are not its own. */
type Replacement = (parameters: readonly PickleValue[]) => PickleValue | undefined

const quantized: Replacement = ([, , shape]) => unread('a quantized tensor', shape)
const first: Replacement = ([value]) => (isTensor(value) ? value : undefined)

/** The functions by which `torch.save` writes tensors: torch/_utils.py and torch/_tensor.py. */
const TENSORS: Readonly<Record<string, Replacement>> = {
  'torch._utils._rebuild_tensor': viewOf,
  'torch._utils._rebuild_tensor_v2': viewOf,
  'torch._utils._rebuild_tensor_v3': ([storage, offset, shape, strides, , , dtype]) => {
    if (!(storage instanceof PickleStorage && dtype instanceof PickleGlobal)) return undefined
    return viewOf([
      new PickleStorage(dtype.path, storage.key, storage.begin),
      offset ?? null,
      shape ?? null,
      strides ?? null,
    ])
  },
  'torch._utils._rebuild_parameter': first,
  'torch._utils._rebuild_parameter_with_state': first,
  'torch._utils._rebuild_device_tensor_from_cpu_tensor': first,
  'torch._utils._rebuild_device_tensor_from_numpy': () =>
    unread('a tensor of another device, stored as a NumPy array', []),
  'torch._utils._rebuild_qtensor': quantized,
  // Indices, elements, shape, and after it whether it is coalesced; a compressed one has two tensors of indices.
  'torch._utils._rebuild_sparse_tensor': ([, parts]) =>
    unread('a sparse tensor', Array.isArray(parts) ? parts.find(isCounts) : []),
  'torch._utils._rebuild_nested_tensor': () => unread('a nested tensor', []),
  'torch._utils._rebuild_meta_tensor_no_storage': ([, shape]) => unread('a tensor without elements', shape),
  'torch._utils._rebuild_wrapper_subclass': ([type, , shape]) => {
    return unread(type instanceof PickleGlobal ? `a ${type.path}` : 'a subclass of tensors', shape)
  },
}

/** `(function, type, parameters, state)`, of a subclass of `torch.Tensor` or of a tensor with attributes. */
const TYPED_TENSOR = 'torch._tensor._rebuild_from_type_v2'

const dict: Replacement = ([items]) => (items instanceof PickleDict ? items : new PickleDict())
const items: Replacement = ([list]) => (Array.isArray(list) ? list : undefined)

/** Containers that are read as if Python's own wrote them. */
const CONTAINERS: Readonly<Record<string, Replacement>> = {
  'builtins.dict': dict,
  'collections.Counter': dict,
  // Its parameter is the function that makes missing values.
  'collections.defaultdict': () => new PickleDict(),
  'torch.Size': items,
  'builtins.set': items,
  '__builtin__.set': items,
}

const ORDERED_DICT = 'collections.OrderedDict'

/**
 * The storage of a persistent id `('storage', <class>, key, location, count)`, behind which older files have `(key, offset,
 * count)` of a view; or of `('module', <class>, file, source)`, as older files name the classes of modules, the class.
 */
export function persistent(machine: PickleMachine, id: PickleValue): PickleStorage | PickleGlobal {
  const [tag, type, key, , count, view] = Array.isArray(id) ? id : []
  if (tag === 'module' && type instanceof PickleGlobal) return type
  const className = type instanceof PickleGlobal ? STORAGE.exec(type.path)?.[1] : undefined
  const isNamed = typeof key === 'string' && key.length <= LONGEST_KEY
  const begin = Array.isArray(view) ? view[1] : 0
  if (tag !== 'storage' || className === undefined || !isNamed || !isCount(count) || !isCount(begin)) {
    throw machine.wrong('its pickle refers to a value that is not a storage')
  }
  const storage = new PickleStorage(className, key, begin)
  if (!machine.storages.has(key)) machine.storages.set(key, storage)
  return storage
}

/** Replaces a call on the stack by the value that it would return, or by an object that is not built. */
export function reduce(machine: PickleMachine): void {
  const parameters = machine.pop()
  const called = machine.pop()
  if (called instanceof PickleObject) {
    machine.push(new PickleObject(called.path, []))
    return
  }
  if (!(called instanceof PickleGlobal) || !Array.isArray(parameters)) {
    throw machine.wrong('its pickle calls a value that is not a function')
  }
  machine.push(replaced(machine, called.path, parameters))
}

function replaced(machine: PickleMachine, called: string, given: readonly PickleValue[]): PickleValue {
  if (called === ORDERED_DICT) {
    // On Python 2 the items are a list of pairs.
    const pairs = Array.isArray(given[0]) ? given[0] : []
    return dictOf(machine, pairs)
  }
  const [inner, , innerParameters] = given
  const isTyped = called === TYPED_TENSOR && inner instanceof PickleGlobal && Array.isArray(innerParameters)
  const path = isTyped ? inner.path : called
  const parameters = isTyped ? innerParameters : given
  const tensor = Object.hasOwn(TENSORS, path) ? TENSORS[path] : undefined
  if (tensor === undefined) {
    const container = Object.hasOwn(CONTAINERS, called) ? CONTAINERS[called]?.(given) : undefined
    return container ?? new PickleObject(called, given)
  }
  const value = tensor(parameters)
  if (value === undefined) throw machine.wrong(`its pickle calls ${path} with other parameters than a tensor's`)
  return value
}

function dictOf(machine: PickleMachine, pairs: readonly PickleValue[]): PickleDict {
  const made = new PickleDict()
  for (const pair of pairs) {
    const [key, value] = Array.isArray(pair) ? pair : []
    if (typeof key !== 'string' || value === undefined) throw machine.wrong('an item of its dicts is not a pair')
    made.set(key, value)
  }
  return made
}

function viewOf([storage, offset, shape, strides, , , bits]: readonly PickleValue[]): PickleValue | undefined {
  const isView =
    storage instanceof PickleStorage &&
    isCount(offset) &&
    isCounts(shape) &&
    isCounts(strides) &&
    shape.length === strides.length
  if (!isView) return undefined
  // Views by torch._neg_view and conj keep the elements of the storage, and the sign in a bit.
  const isLazy = bits instanceof PickleDict && [...bits.values()].some((bit) => bit === true)
  return isLazy
    ? new UnreadTensor('a lazily negated or conjugated tensor', shape)
    : new PickleTensor(storage, storage.begin + offset, shape, strides)
}

function unread(what: string, shape: PickleValue | undefined): UnreadTensor {
  return new UnreadTensor(what, isCounts(shape) ? shape : [])
}

function isTensor(value: PickleValue | undefined): value is PickleTensor | UnreadTensor {
  return value instanceof PickleTensor || value instanceof UnreadTensor
}

function isCount(value: PickleValue | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isCounts(value: PickleValue | undefined): value is number[] {
  return Array.isArray(value) && value.length <= MOST_AXES && value.every(isCount)
}
