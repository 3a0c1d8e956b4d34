import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { type Members, MessageMembers, type MessageRows } from '@cudnn-rnn/checkpoint/files'
import { corrupt, unsupported } from '../errors.js'
import { ByteWindow } from './byte_window.js'

const decoder = new TextDecoder()

/** The place of bytes in a file. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** A field's payload: the bytes of a varint or a fixed number, or as many bytes as the length before them. */
export interface ProtobufField extends ByteRange {
  readonly wireType: WireType
}

/** A tag and a length. */
const LONGEST_HEADER = 20
/** Limit of names and of lists of names or sizes. */
export const LONGEST_VALUE = 65_536
const MOST_KNOWN_TEXTS = 1024
/** Values read of one file; a million nodes need fewer. */
const MOST_VALUES = 2 ** 23

/**
 * Walks protobuf messages in a file and reads only requested fields, so that memory does not depend on the file's size.
 * Tags and numbers are decoded by the protobuf library.
 */
export class ProtobufScanner {
  readonly #window: ByteWindow
  readonly #source: ByteSource
  #values = 0
  /** Texts seen, so that the operators and inputs of many nodes are each one string. */
  readonly #texts = new Map<string, string>()

  constructor(source: ByteSource) {
    this.#source = source
    this.#window = new ByteWindow(source)
  }

  /** The members of the message in `range`; fields without a row are skipped. Throws WeightFileError `ERR_WEIGHTS_CORRUPT`. */
  async message<const Rows extends MessageRows<ProtobufField>>(
    { start, end }: ByteRange,
    rows: Rows,
  ): Promise<Members<Rows>> {
    const found = new MessageMembers<ProtobufField, Rows>(rows)
    try {
      for (let position = start; position < end; ) {
        const length = Math.min(LONGEST_HEADER, end - position)
        const bytes = this.#window.held(position, length) ?? (await this.#window.load(position, length))
        const [number, field] = fieldAt(position, bytes)
        if (field.end > end) throw new RangeError('a field is longer than its message')
        const read = found.reader(number)
        if (read !== undefined) found.add(number, await read(field))
        position = field.end
      }
    } catch (cause) {
      throw cause instanceof Error && 'code' in cause
        ? cause
        : corrupt(this.#source.name, 'its ONNX messages are damaged or cut', cause)
    }
    return found.members
  }

  /** A reader over the payload of a field that holds a number or a short list of numbers. */
  async reader(field: ProtobufField): Promise<BinaryReader> {
    return new BinaryReader(await this.#payload(field))
  }

  /** The number that is the whole payload. */
  async number(field: ProtobufField, wireType: WireType, read: (reader: BinaryReader) => number): Promise<number> {
    if (field.wireType === wireType) return read(await this.reader(field))
    throw corrupt(this.#source.name, 'a number in its messages is something else')
  }

  /** The text that is the whole payload. */
  async text(field: ProtobufField): Promise<string> {
    const text = decoder.decode(await this.#payload(field))
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    if (this.#texts.size < MOST_KNOWN_TEXTS) this.#texts.set(text, text)
    return text
  }

  async #payload(field: ProtobufField): Promise<Uint8Array> {
    const length = field.end - field.start
    if (length > LONGEST_VALUE) throw corrupt(this.#source.name, `a name or list of it has ${length} bytes`)
    if (++this.#values > MOST_VALUES) {
      throw unsupported(this.#source.name, `its messages must hold at most ${MOST_VALUES} names and numbers`)
    }
    return this.#window.held(field.start, length) ?? (await this.#window.load(field.start, length))
  }
}

function fieldAt(position: number, bytes: Uint8Array): [number: number, field: ProtobufField] {
  const reader = new BinaryReader(bytes)
  const [number, wireType] = reader.tag()
  if (wireType === WireType.StartGroup || wireType === WireType.EndGroup) throw new RangeError('it has groups')
  if (wireType === WireType.LengthDelimited) {
    const length = reader.uint32()
    return [number, { wireType, start: position + reader.pos, end: position + reader.pos + length }]
  }
  const start = position + reader.pos
  reader.skip(wireType, number)
  return [number, { wireType, start, end: position + reader.pos }]
}
