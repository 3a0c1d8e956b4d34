import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

/**
 * Protobuf messages as rows: a member's number, how its value is read, and of a field that is repeated whether the member is
 * each of its values or the sum. A value that is undefined is left out.
 */
export type MessageRows<Source> = Readonly<
  Record<string, readonly [number: number, read: (source: Source) => unknown, repeated?: 'each' | 'sum']>
>

type ValueOf<Read> = Read extends (source: never) => infer Value ? Exclude<Awaited<Value>, undefined> : never

type Repeated = readonly [number, unknown, 'each' | 'sum']

/** The members of a message: a field that is absent has none, one that is repeated a list or a sum. */
export type Members<Rows extends MessageRows<never>> = {
  -readonly [Name in keyof Rows as Rows[Name] extends Repeated ? never : Name]?: ValueOf<Rows[Name][1]>
} & {
  -readonly [Name in keyof Rows as Rows[Name] extends Repeated ? Name : never]: Rows[Name][2] extends 'sum'
    ? number
    : ValueOf<Rows[Name][1]>[]
}

/** Rows by their numbers: rows that are a constant are ordered once. */
interface Layout {
  readonly fields: readonly ({ readonly name: string; readonly row: MessageRows<never>[string] } | undefined)[]
  /** Names and kinds of those that are repeated. */
  readonly repeated: readonly (readonly [name: string, kind: 'each' | 'sum'])[]
}

const layouts = new WeakMap<object, Layout>()

function layoutOf(rows: MessageRows<never>): Layout {
  const known = layouts.get(rows)
  if (known !== undefined) return known
  const fields: { readonly name: string; readonly row: MessageRows<never>[string] }[] = []
  for (const [name, row] of Object.entries(rows)) fields[row[0]] = { name, row }
  const repeated = Object.entries(rows).flatMap(([name, [, , kind]]) =>
    kind === undefined ? [] : [[name, kind] as const],
  )
  layouts.set(rows, { fields, repeated })
  return { fields, repeated }
}

/** Collects the members of one message, whose fields a caller walks: of a single field the last counts. */
export class MessageMembers<Source, Rows extends MessageRows<Source>> {
  readonly #layout: Layout
  readonly #members: Record<string, unknown> = {}

  constructor(rows: Rows) {
    this.#layout = layoutOf(rows)
    for (const [name, kind] of this.#layout.repeated) this.#members[name] = kind === 'each' ? [] : 0
  }

  /** The reader of a field; undefined for one that is to be skipped. */
  reader(number: number): ((source: Source) => unknown) | undefined {
    return this.#layout.fields[number]?.row[1] as ((source: Source) => unknown) | undefined
  }

  add(number: number, value: unknown): void {
    const field = this.#layout.fields[number]
    if (value === undefined || field === undefined) return
    const { name, row } = field
    if (row[2] === 'each') (this.#members[name] as unknown[]).push(value)
    else this.#members[name] = row[2] === 'sum' ? Number(this.#members[name]) + Number(value) : value
  }

  get members(): Members<Rows> {
    return this.#members as Members<Rows>
  }
}

/** Reads the value of a field; a list of numbers is packed where the field has a length. */
type FieldReader = (reader: BinaryReader, wireType: WireType) => unknown

/** Walks the fields of the message in `bytes`; those without a reader are skipped. Throws Error for bytes that are not a message. */
export function walkMessage(bytes: Uint8Array, readerOf: (number: number) => FieldReader | undefined): void {
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag()
    const read = readerOf(number)
    if (read === undefined) reader.skip(wireType, number)
    else read(reader, wireType)
  }
  if (reader.pos !== reader.len) throw new RangeError('a field is longer than its message')
}

/** The members of the message in `bytes`. Throws as {@link walkMessage}. */
export function readMessage<const Rows extends MessageRows<BinaryReader>>(
  bytes: Uint8Array,
  rows: Rows,
): Members<Rows> {
  const found = new MessageMembers<BinaryReader, Rows>(rows)
  walkMessage(bytes, (number) => {
    const read = found.reader(number)
    return read && ((reader) => found.add(number, read(reader)))
  })
  return found.members
}

/** Readers of values. */
export const int32 = (reader: BinaryReader) => reader.int32()
export const text = (reader: BinaryReader) => reader.string()
export function messageOf<const Rows extends MessageRows<BinaryReader>>(rows: Rows) {
  return (reader: BinaryReader): Members<Rows> => readMessage(reader.bytes(), rows)
}

/** A value of a field to write: integers are varints, texts and bytes have their length before them. */
type SingleValue = number | string | Uint8Array | ((writer: BinaryWriter, number: number) => void)

/** The bytes of a message by its field numbers, ascending; a list repeats its field, undefined leaves it out. */
export function encodeMessage(
  fields: Readonly<Record<number, SingleValue | readonly SingleValue[] | undefined>>,
): Uint8Array {
  const writer = new BinaryWriter()
  for (const [key, given] of Object.entries(fields)) {
    const number = Number(key)
    for (const value of Array.isArray(given) ? (given as readonly SingleValue[]) : [given as SingleValue | undefined]) {
      if (typeof value === 'number') writer.tag(number, WireType.Varint).int64(value)
      else if (typeof value === 'string') writer.tag(number, WireType.LengthDelimited).string(value)
      else if (typeof value === 'function') value(writer, number)
      else if (value !== undefined) writer.tag(number, WireType.LengthDelimited).bytes(value)
    }
  }
  return writer.finish()
}

/** Numbers of fixed widths to write. */
export const float = (value: number) => (writer: BinaryWriter, number: number) =>
  void writer.tag(number, WireType.Bit32).float(value)
export const double = (value: number) => (writer: BinaryWriter, number: number) =>
  void writer.tag(number, WireType.Bit64).double(value)
export const fixed32 = (value: number) => (writer: BinaryWriter, number: number) =>
  void writer.tag(number, WireType.Bit32).fixed32(value)
