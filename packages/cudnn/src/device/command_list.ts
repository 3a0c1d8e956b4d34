import { COMMANDS, type CommandName, type CommandShape, type FieldKinds, type Kind } from '../sys/commands.js'
import {
  KERNELS,
  type KernelName,
  PERSISTENT_KERNELS,
  type PersistentKernelName,
  TENSORS_OF_LAUNCH,
} from '../sys/kernels.js'
import type {
  CtcLossDescriptor,
  DataDescriptor,
  DropoutDescriptor,
  Graph,
  HostArray,
  KernelModule,
  RnnDescriptorId,
  TensorDescriptor,
} from '../sys/native_addon.js'
import { type BufferHome, DeviceBuffer } from './device_buffer.js'

/** Objects by their numbers in the worker. */
interface Descriptors {
  readonly tensorDescriptor: TensorDescriptor
  readonly dataDescriptor: DataDescriptor
  readonly dropoutDescriptor: DropoutDescriptor
  readonly rnnDescriptor: RnnDescriptorId
  readonly ctcLossDescriptor: CtcLossDescriptor
  readonly kernelModule: KernelModule
}

type Values = Descriptors & {
  readonly [Kind in keyof Descriptors as `${Kind}!`]: Descriptors[Kind]
} & {
  readonly in: DeviceBuffer
  readonly out: DeviceBuffer
  readonly inout: DeviceBuffer
  readonly int: number
  readonly size: number
  readonly double: number
  readonly scalar: number
  readonly source: HostArray
  readonly target: HostArray
  readonly graph: Graph
}

type ValueOf<K extends Kind> = K extends `${infer Required extends Kind & keyof Values}?`
  ? Values[Required] | null | undefined
  : K extends keyof Values
    ? Values[K]
    : never

type FieldsOf<Shape extends FieldKinds> = {
  readonly [Field in keyof Shape as Shape[Field] extends `${string}?` ? never : Field]: ValueOf<Shape[Field]>
} & {
  readonly [Field in keyof Shape as Shape[Field] extends `${string}?` ? Field : never]?: ValueOf<Shape[Field]>
}

export type CommandFields<Name extends CommandName> = FieldsOf<(typeof COMMANDS)[Name]['fields']>
export type KernelFields<Name extends KernelName> = FieldsOf<(typeof KERNELS)[Name]>
/** The fields that each tensor of a kernel of four has, by their names without numbers. */
export type TensorFields<Name extends KernelName> = {
  readonly [Field in keyof KernelFields<Name> as Field extends `${infer Base}0`
    ? Base
    : never]: KernelFields<Name>[Field]
}
/** The other fields of such a kernel. */
export type SharedFields<Name extends KernelName> = Omit<KernelFields<Name>, `${string}${0 | 1 | 2 | 3}`>
export type PersistentLaunch = Omit<CommandFields<'launchPersistent'>, 'kernel'>

/** Commands that the list has methods for. */
type Special = 'segment' | 'allocate' | 'allocateOnHost' | 'release' | 'upload' | 'launchKernel' | 'launchPersistent'

/** How a field becomes a number. */
type Encoding = 'number' | 'optional double' | 'read' | 'write' | 'scalar' | 'source' | 'target'

/**
 * A row of the table of commands or kernels, prepared once: the opcode, the names of the fields, and their encodings.
 */
interface Encoder {
  readonly code: number
  readonly names: readonly string[]
  readonly encodings: readonly Encoding[]
  /** The names of the fields that each tensor has, if the kernel takes four tensors. */
  readonly ofTensors: readonly string[]
}

type Fields = Readonly<Record<string, unknown>>

/** A launch of tensors: its words from `at` to `end`. */
interface TensorLaunch {
  readonly encoder: Encoder
  readonly shared: Fields
  readonly at: number
  end: number
  tensors: number
}

/** The encodings of kinds of fields; all others, descriptors, sizes and enumerations, are plain numbers. */
const ENCODINGS: Readonly<Partial<Record<Kind, Encoding>>> = {
  ...({ in: 'read', 'in?': 'read', out: 'write', 'out?': 'write', inout: 'write' } as const),
  ...({ source: 'source', 'source?': 'source', target: 'target' } as const),
  ...({ scalar: 'scalar', 'double?': 'optional double' } as const),
}

function encoders<Name extends string, Row>(
  table: Readonly<Record<Name, Row>>,
  fieldsOf: (row: Row) => FieldKinds,
): Readonly<Record<Name, Encoder>> {
  const rows = Object.entries<Row>(table).map(([name, row], code): [string, Encoder] => {
    const fields = fieldsOf(row)
    const [names, encodings] = [Object.keys(fields), Object.values(fields).map((kind) => ENCODINGS[kind] ?? 'number')]
    const ofTensors = names.filter((field) => field.endsWith('3')).map((field) => field.slice(0, -1))
    return [name, { code, names, encodings, ofTensors }]
  })
  return Object.fromEntries(rows) as Record<Name, Encoder>
}

const COMMAND_ENCODERS = encoders<CommandName, CommandShape>(COMMANDS, ({ fields }) => fields)
const LAUNCH_KERNEL = COMMAND_ENCODERS.launchKernel.code
/** The words of a launch before its fields; the third is the number of blocks. */
const LAUNCH_HEAD = 4
const SEGMENT = COMMAND_ENCODERS.segment.code
const ALLOCATE = COMMAND_ENCODERS.allocate.code
const RELEASE = COMMAND_ENCODERS.release.code
const KERNEL_ENCODERS = encoders<KernelName, FieldKinds>(KERNELS, (fields) => fields)
const PERSISTENT_ENCODERS = encoders<PersistentKernelName, FieldKinds>(PERSISTENT_KERNELS, (fields) => fields)
/** An optional buffer, descriptor or host array that is left out. */
const ABSENT = -1

/** A buffer that a list names, and the list's accesses to it. */
export interface Slot {
  readonly buffer: DeviceBuffer
  /** The list allocates it; otherwise it was there before. */
  readonly isAllocated: boolean
  /** The host array it is filled with. */
  upload: HostArray | undefined
  isReleased: boolean
  isWritten: boolean
}

/**
 * Commands as data. Buffers are named by their place in `slots` and scalars are stored separately, so that `words` are the same for
 * every list that does the same: they are the key of a graph.
 */
export class CommandList {
  readonly id: number
  readonly words: number[] = []
  readonly slots: Slot[] = []
  readonly scalars: number[] = []
  readonly sources: HostArray[] = []
  readonly targets: HostArray[] = []
  /** "run forward": completes "Cannot … as …" if a segment fails. */
  readonly actions: string[] = []
  /** Allocations and releases in their order: the index of a slot, or its bitwise complement. */
  readonly lifetimes: number[] = []
  readonly #home: BufferHome
  readonly #isDeferred: boolean
  /** The last launch of tensors, if it joins others. */
  #joining: TensorLaunch | undefined
  isSubmitted = false

  /** @param isDeferred the list is submitted later: host arrays may change before */
  constructor(home: BufferHome, action: string, isDeferred = false) {
    this.#home = home
    this.#isDeferred = isDeferred
    this.id = home.newId()
    this.segment(action)
  }

  /** True if the list has segments but no commands. */
  get isEmpty(): boolean {
    return this.words.length === this.actions.length
  }

  /** Begins a segment: commands that succeed or fail together. */
  segment(action: string): this {
    this.actions.push(action)
    this.words.push(SEGMENT)
    return this
  }

  /** A new buffer; its memory is there before the other commands of the segment run. */
  allocate(bytes: number): DeviceBuffer {
    return this.adopt(new DeviceBuffer(this.#home, bytes))
  }

  /** Host memory in place of a buffer, which is never freed. */
  allocateOnHost(bytes: number): DeviceBuffer {
    const buffer = new DeviceBuffer(this.#home, bytes)
    this.#define(buffer, true)
    this.#add('allocateOnHost', { buffer, bytes })
    return buffer
  }

  /** The memory of a buffer that another list was to allocate. */
  adopt(buffer: DeviceBuffer): DeviceBuffer {
    const slot = this.#define(buffer, true)
    this.words.push(ALLOCATE, slot, buffer.bytes)
    this.lifetimes.push(slot)
    return buffer
  }

  /** Lets go of a buffer that this list allocated, after the commands so far; false for any other. */
  release(buffer: DeviceBuffer): boolean {
    if (this.isSubmitted) return false
    const slot = buffer.listId === this.id ? this.slots[buffer.slot] : undefined
    if (slot?.isAllocated !== true) return false
    slot.isReleased = true
    this.words.push(RELEASE, buffer.slot)
    this.lifetimes.push(~buffer.slot)
    return true
  }

  /** Frees a buffer that another list allocated. */
  free(buffer: DeviceBuffer): void {
    this.words.push(RELEASE, this.#slotOf(buffer, true))
  }

  /** Fills a buffer from a host array, which may change afterwards. */
  upload(buffer: DeviceBuffer, data: HostArray): void {
    const slot = this.slots[this.#slotOf(buffer, true)]
    // A step is submitted later: the caller may change the array before, so it is copied now.
    const read = this.#isDeferred ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice() : data
    // A graph uploads before its launch, from the array of each replay.
    if (slot.isAllocated) slot.upload = read
    this.#add('upload', { to: buffer, offset: 0, from: read })
  }

  /** Adds a command. Its fields are encoded in the order of the table, not of the object's properties. */
  add<Name extends Exclude<CommandName, Special>>(name: Name, fields: CommandFields<Name>): void {
    this.#add(name, fields)
  }

  /** Copies all of `from`. */
  copy(to: DeviceBuffer, from: DeviceBuffer): void {
    this.add('copy', { to, toOffset: 0, from, fromOffset: 0, bytes: from.bytes })
  }

  /** A launch of a kernel; nothing if there are no blocks. */
  launch<Name extends KernelName>(name: Name, blocks: number, threads: number, fields: KernelFields<Name>): void {
    if (blocks === 0) return
    const encoder = KERNEL_ENCODERS[name]
    // The most frequent command: as numbers, without an object of fields.
    this.words.push(LAUNCH_KERNEL, encoder.code, blocks, threads)
    this.#encode(encoder, fields as Fields)
  }

  /**
   * A launch of a kernel on up to four tensors. One that `joins` becomes a part of the launch before if that joins too and has
   * room, nothing but the tensors differs, and only the begin of a segment is between them.
   */
  launchTensors<Name extends KernelName>(
    name: Name,
    blocks: number,
    threads: number,
    tensors: readonly TensorFields<Name>[],
    shared: SharedFields<Name>,
    joins = false,
  ): void {
    if (blocks === 0) return
    const { words } = this
    const encoder = KERNEL_ENCODERS[name]
    const before = this.#joining
    if (joins && before?.encoder === encoder && this.#takes(before, tensors.length, shared)) {
      words.pop()
      this.actions.pop()
      words[before.at + 2] = Math.max(words[before.at + 2], blocks)
      this.#place(before, tensors, before.tensors + tensors.length)
      return
    }
    const launch = { encoder, shared, at: words.length, end: 0, tensors: 0 }
    words.push(LAUNCH_KERNEL, encoder.code, blocks, threads)
    this.#place(launch, tensors, TENSORS_OF_LAUNCH)
    launch.tensors = tensors.length
    this.#encode(encoder, shared, TENSORS_OF_LAUNCH * encoder.ofTensors.length)
    launch.end = words.length
    this.#joining = joins ? launch : undefined
  }

  /** Whether a launch has room for more tensors, whose other fields are the same, and only the begin of a segment follows. */
  #takes({ end, tensors, shared }: TensorLaunch, more: number, fields: Fields): boolean {
    const { words } = this
    if (tensors + more > TENSORS_OF_LAUNCH || words.length !== end + 1 || words[end] !== SEGMENT) return false
    for (const key in fields) if (!Object.is(fields[key], shared[key])) return false
    return true
  }

  /**
   * Writes tensors to the places of a launch, after those that it has. A place up to `end` for which there is none has the first
   * one with no elements.
   */
  #place(launch: TensorLaunch, tensors: readonly Fields[], end: number): void {
    const { encoder, at, tensors: begin } = launch
    const { ofTensors, encodings } = encoder
    for (let field = 0; field < ofTensors.length; field++) {
      const encoding = encodings[TENSORS_OF_LAUNCH * field]
      for (let place = begin; place < end; place++) {
        const tensor = tensors[place - begin]
        const value = (tensor ?? tensors[0])[ofTensors[field]]
        const isWritten = encoding === 'write'
        const word = encoding === 'number' ? tensor && value : this.#slotOf(value as DeviceBuffer, isWritten)
        this.words[at + LAUNCH_HEAD + TENSORS_OF_LAUNCH * field + place] = (word as number | undefined) ?? 0
      }
    }
    launch.tensors = end
  }

  launchPersistent<Name extends PersistentKernelName>(
    name: Name,
    launch: PersistentLaunch,
    fields: FieldsOf<(typeof PERSISTENT_KERNELS)[Name]>,
  ): void {
    const encoder = PERSISTENT_ENCODERS[name]
    this.#add('launchPersistent', { kernel: encoder.code, ...launch })
    this.#encode(encoder, fields as Fields)
  }

  #add<Name extends CommandName>(name: Name, fields: CommandFields<Name>): void {
    const encoder = COMMAND_ENCODERS[name]
    this.words.push(encoder.code)
    this.#encode(encoder, fields as Fields)
  }

  #encode({ names, encodings }: Encoder, fields: Fields, first = 0): void {
    const { words } = this
    for (let k = first; k < names.length; k++) {
      const value = fields[names[k]]
      const encoding = encodings[k]
      if (encoding === 'scalar') this.scalars.push(value as number)
      else if (value === null || value === undefined) words.push(encoding === 'optional double' ? Number.NaN : ABSENT)
      else if (encoding === 'read' || encoding === 'write') {
        words.push(this.#slotOf(value as DeviceBuffer, encoding === 'write'))
      } else if (encoding === 'source') words.push(this.sources.push(value as HostArray) - 1)
      else if (encoding === 'target') words.push(this.targets.push(value as HostArray) - 1)
      else words.push(value as number)
    }
  }

  /** The index of a buffer in this list, which is assigned at its first use. */
  #slotOf(buffer: DeviceBuffer, isWritten: boolean): number {
    const index = buffer.listId === this.id ? buffer.slot : this.#define(buffer, false)
    if (isWritten) this.slots[index].isWritten = true
    return index
  }

  #define(buffer: DeviceBuffer, isAllocated: boolean): number {
    // The buffer caches its slot for the list that named it last: a Map for each list would cost more than the
    // commands.
    buffer.listId = this.id
    buffer.slot =
      this.slots.push({ buffer, isAllocated, upload: undefined, isReleased: false, isWritten: isAllocated }) - 1
    return buffer.slot
  }
}
