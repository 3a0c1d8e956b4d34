import { COSTS, type PickleMachine } from './pickle_machine.js'
import { persistent, reduce } from './pickle_globals.js'
import {
  PickleDict,
  PickleGlobal,
  type PickleKey,
  PickleObject,
  PickleTensor,
  type PickleValue,
  UnreadTensor,
} from './pickle_values.js'

/** Opcodes by byte, of CPython's pickletools.py. The others are of protocols 0 and 1, which torch.save cannot write. */
export const PICKLE_OPCODES: Readonly<Record<number, (machine: PickleMachine) => void>> = {
  128: (c) => void c.take(1), // PROTO
  149: (c) => void c.take(8), // FRAME
  40: (c) => c.mark(), // MARK
  48: (c) => void c.pop(), // POP
  49: (c) => void c.popToMark(), // POP_MARK
  50: (c) => c.push(c.peek()), // DUP
  78: (c) => c.push(null), // NONE
  136: (c) => c.push(true), // NEWTRUE
  137: (c) => c.push(false), // NEWFALSE
  74: (c) => c.push(c.int32()), // BININT
  75: (c) => c.push(c.unsigned(1)), // BININT1
  77: (c) => c.push(c.unsigned(2)), // BININT2
  138: (c) => c.push(long(c.take(c.unsigned(1)))), // LONG1
  139: (c) => c.push(c.take(c.unsigned(4))), // LONG4: longer than any number of a weight file
  71: (c) => c.push(c.float64()), // BINFLOAT
  88: (c) => c.push(c.text(c.unsigned(4))), // BINUNICODE
  140: (c) => c.push(c.text(c.unsigned(1))), // SHORT_BINUNICODE
  141: (c) => c.push(c.text(c.unsigned(8))), // BINUNICODE8
  84: (c) => c.push(c.text(c.unsigned(4))), // BINSTRING
  85: (c) => c.push(c.text(c.unsigned(1))), // SHORT_BINSTRING
  66: (c) => c.push(c.take(c.unsigned(4))), // BINBYTES
  67: (c) => c.push(c.take(c.unsigned(1))), // SHORT_BINBYTES
  142: (c) => c.push(c.take(c.unsigned(8))), // BINBYTES8
  150: (c) => c.push(c.take(c.unsigned(8))), // BYTEARRAY8
  125: (c) => c.push(new PickleDict()), // EMPTY_DICT
  93: (c) => c.push([]), // EMPTY_LIST
  143: (c) => c.push([]), // EMPTY_SET
  41: (c) => c.push([]), // EMPTY_TUPLE
  116: (c) => c.push(c.popToMark()), // TUPLE
  145: (c) => c.push(c.popToMark()), // FROZENSET
  133: (c) => c.push([c.pop()]), // TUPLE1
  134: (c) => c.push([c.pop(), c.pop()].reverse()), // TUPLE2
  135: (c) => c.push([c.pop(), c.pop(), c.pop()].reverse()), // TUPLE3
  97: (c) => append(c, [c.pop()]), // APPEND
  101: (c) => append(c, c.popToMark()), // APPENDS
  144: (c) => append(c, c.popToMark()), // ADDITEMS
  115: (c) => setItems(c, [c.pop(), c.pop()].reverse()), // SETITEM
  117: (c) => setItems(c, c.popToMark()), // SETITEMS
  113: (c) => c.remember(c.unsigned(1)), // BINPUT
  114: (c) => c.remember(c.unsigned(4)), // LONG_BINPUT
  148: (c) => c.remember(), // MEMOIZE
  104: (c) => c.recall(c.unsigned(1)), // BINGET
  106: (c) => c.recall(c.unsigned(4)), // LONG_BINGET
  99: (c) => c.push(c.global(`${c.line()}.${c.line()}`)), // GLOBAL
  147: (c) => c.push(stackGlobal(c)), // STACK_GLOBAL
  81: (c) => c.push(persistent(c, c.pop())), // BINPERSID
  82: (c) => reduce(c), // REDUCE
  129: (c) => create(c, c.pop()), // NEWOBJ
  146: (c) => create(c, [c.pop(), c.pop()]), // NEWOBJ_EX
  98: (c) => build(c, c.pop()), // BUILD
}

/** An object of a class that is not built, from the class on the stack. */
function create(machine: PickleMachine, parameters: PickleValue): void {
  const type = machine.pop()
  if (!(type instanceof PickleGlobal)) throw machine.wrong('its pickle makes an object of a value that is not a class')
  machine.push(new PickleObject(type.path, Array.isArray(parameters) ? parameters : []))
}

/** Attributes of the object on the stack. A container's, such as a state dict's _metadata, are not part of it. */
function build(machine: PickleMachine, state: PickleValue): void {
  const value = machine.peek()
  if (value instanceof PickleTensor || value instanceof UnreadTensor) return
  if (value instanceof PickleObject) hold(machine, value, [state])
}

function hold(machine: PickleMachine, object: PickleObject, values: readonly PickleValue[]): void {
  machine.charge(COSTS.reference * values.length)
  for (const value of values) object.attributes.push(value)
}

function stackGlobal(machine: PickleMachine): PickleGlobal {
  const name = machine.pop()
  const module = machine.pop()
  if (typeof module === 'string' && typeof name === 'string') return machine.global(`${module}.${name}`)
  throw machine.wrong('its pickle has a name that is not text')
}

function append(machine: PickleMachine, values: PickleValue[]): void {
  const list = machine.peek()
  if (list instanceof PickleObject) {
    hold(machine, list, values)
    return
  }
  if (!Array.isArray(list)) throw machine.wrong('its pickle appends to a value that is not a list')
  machine.charge(COSTS.reference * values.length)
  for (const value of values) list.push(value)
}

function setItems(machine: PickleMachine, flat: PickleValue[]): void {
  const target = machine.peek()
  const dict = target instanceof PickleObject ? new PickleDict() : target
  if (!(dict instanceof PickleDict) || flat.length % 2 !== 0) {
    throw machine.wrong('its pickle sets items of a value that is not a dict')
  }
  machine.charge(COSTS.text * flat.length)
  if (target instanceof PickleObject) {
    machine.charge(COSTS.dict)
    hold(machine, target, [dict])
  }
  for (let index = 0; index < flat.length; index += 2) {
    const [key, value] = [flat[index], flat[index + 1]]
    if (key === undefined || value === undefined) throw machine.wrong('a key of its dicts has no value')
    dict.set(isKey(key) ? key : `(key ${dict.size})`, value)
  }
}

function isKey(value: PickleValue): value is PickleKey {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
}

/** A little-endian two's complement integer: a number if it is exact. */
function long(bytes: Uint8Array): number | bigint {
  let value = 0n
  for (const byte of bytes.slice().reverse()) value = (value << 8n) | BigInt(byte)
  value = BigInt.asIntN(8 * bytes.length, value)
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}
