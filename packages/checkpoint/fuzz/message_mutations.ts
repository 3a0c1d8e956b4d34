import type { Random } from '@cudnn-rnn/fuzzing'

/** A field of a protobuf message: its number and wire type in one, and its value as the wire has it. */
interface Field {
  tag: number
  value: bigint | Uint8Array
}

const WIRE = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const

/** A message with one field changed, removed, doubled, moved or damaged, at any depth. */
export function mutateMessage(bytes: Uint8Array, random: Random): Uint8Array {
  const fields = parseFields(bytes)
  if (fields === undefined || fields.length === 0 || random.chance(0.05)) return mutateBytes(bytes, random)
  const at = random.below(fields.length)
  const field = fields[at]!
  switch (random.below(12)) {
    case 0:
      fields.splice(at, 1)
      break
    case 1:
      fields.splice(random.below(fields.length + 1), 0, { ...field })
      break
    case 2:
      field.tag = (random.below(20) << 3) | (field.tag & 7)
      break
    case 3:
      field.tag = (field.tag & ~7) | random.below(8)
      break
    case 4:
      fields.push(fields.splice(at, 1)[0]!)
      break
    case 5:
      for (let copies = random.below(60); copies > 0; copies--) fields.push({ ...field })
      break
    default:
      field.value = typeof field.value === 'bigint' ? random.number(field.value) : mutateMessage(field.value, random)
  }
  return encodeFields(fields)
}

/** Bytes with some overwritten, removed, inserted or cut off. */
export function mutateBytes(bytes: Uint8Array, random: Random): Uint8Array {
  const changed = [...bytes]
  for (let change = random.below(3); change >= 0; change--) {
    const at = random.below(changed.length + 1)
    const byte = random.chance(0.5) ? random.below(256) : random.pick([0, 1, 0x7f, 0x80, 0xfe, 0xff])
    if (random.chance(0.6)) changed[Math.max(0, Math.min(at, changed.length - 1))] = byte
    else if (random.chance(0.5)) changed.splice(at, 0, byte)
    else if (random.chance(0.7)) changed.splice(at, 1)
    else changed.length = at
  }
  return Uint8Array.from(changed)
}

function parseFields(bytes: Uint8Array): Field[] | undefined {
  const fields: Field[] = []
  let position = 0
  const varint = () => {
    let [value, shift] = [0n, 0n]
    for (;;) {
      const byte = bytes[position++]
      if (byte === undefined || shift > 63n) return undefined
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
      shift += 7n
    }
  }
  const chunk = (length: number) => {
    if (position + length > bytes.length) return undefined
    position += length
    return bytes.slice(position - length, position)
  }
  while (position < bytes.length) {
    const tag = Number(varint() ?? 0n)
    const wireType = tag & 7
    if (tag >> 3 === 0 || tag > 1000) return undefined
    let value: Field['value'] | undefined
    if (wireType === WIRE.varint) value = varint()
    else if (wireType === WIRE.bytes) value = chunk(Number(varint() ?? 2n ** 60n))
    else if (wireType === WIRE.fixed32) value = chunk(4)
    else if (wireType === WIRE.fixed64) value = chunk(8)
    if (value === undefined) return undefined
    fields.push({ tag, value })
  }
  return fields
}

function encodeFields(fields: readonly Field[]): Uint8Array {
  const bytes: number[] = []
  for (const { tag, value } of fields) {
    pushBigVarint(bytes, BigInt(tag))
    if (typeof value === 'bigint') pushBigVarint(bytes, value)
    else {
      if ((tag & 7) === WIRE.bytes) pushBigVarint(bytes, BigInt(value.length))
      for (const byte of value) bytes.push(byte)
    }
  }
  return Uint8Array.from(bytes)
}

export function pushBigVarint(bytes: number[], value: bigint): void {
  let rest = value
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  bytes.push(Number(rest))
}
