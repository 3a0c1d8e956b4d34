import {
  createRnnDescriptor,
  flatLayout,
  hiddenColumns,
  numPseudoLayers,
  outputSize,
  type RnnOptions,
} from '@cudnn-rnn/canonical'
import { decoded, type ElementType, encoded } from '@cudnn-rnn/conformance'
import {
  ALGORITHMS,
  type Algorithm,
  type Arithmetic,
  arithmeticOf,
  BIAS_MODE_NUMBERS,
  type Buffer,
  CELL_MODE_NUMBERS,
  type DataDescriptor,
  DeviceBuffer,
  type DeviceSession,
  type DropoutDescriptor,
  FORWARD_MODE,
  type RnnDescriptorHandle,
  type TensorDescriptor,
} from '@cudnn-rnn/cudnn/validation'

/** Where the vectors of a batch lie: cudnnRNNDataLayout_t. */
const LAYOUTS = { padded: 0, packed: 1, batchMajor: 2 } as const

export interface RawOptions extends RnnOptions {
  readonly precision?: Arithmetic['precision']
  readonly algorithm?: Algorithm
  readonly time: number
  readonly batch: number
  readonly lengths?: readonly number[]
  readonly layout?: keyof typeof LAYOUTS
  /** Padding fill of both descriptors; null for none; default 0. */
  readonly fill?: number | null
  /** What the device is shown as lengths: the real ones by default, null, or others. */
  readonly shownLengths?: readonly number[] | null
  readonly training?: boolean
  readonly dropoutSeed?: number
}

/** Values of sequences and states by cuDNN's names. */
export type Values = Readonly<Record<string, Float64Array>>

/**
 * One network straight at cuDNN: what the executor corrects around it (padding, empty rows, refusals) is not corrected
 * here. Arrays are float64 on the host and converted to the element type.
 */
export class RawNetwork {
  readonly type: ElementType
  readonly options: RawOptions
  readonly reserveBytes: number
  readonly workspaceBytes: number
  readonly sizes: Readonly<Record<'x' | 'y' | 'h' | 'c' | 'params', number>>
  readonly #session: DeviceSession
  readonly #rnn: RnnDescriptorHandle
  readonly #x: DataDescriptor
  readonly #y: DataDescriptor
  readonly #h: TensorDescriptor
  readonly #c: TensorDescriptor | null
  readonly #dropout: DropoutDescriptor | null
  readonly #states: DeviceBuffer | undefined
  readonly #buffers = new Map<string, DeviceBuffer>()
  readonly #bytes: number

  private constructor(session: DeviceSession, parts: RawParts) {
    const { options, arithmetic, temp } = parts
    const network = createRnnDescriptor(rnnOptions(options))
    const vectors = vectorsOf(options)
    const rows = numPseudoLayers(network) * options.batch
    this.#session = session
    this.options = options
    this.type = elementType(arithmetic)
    this.#bytes = arithmetic.bytes
    this.#rnn = parts.rnn
    this.#x = parts.x
    this.#y = parts.y
    this.#h = parts.h
    this.#c = parts.c
    this.#dropout = parts.dropout
    this.#states = parts.states
    this.workspaceBytes = temp[0]!
    this.reserveBytes = temp[1]!
    this.sizes = {
      x: vectors * network.inputSize,
      y: vectors * outputSize(network),
      h: rows * hiddenColumns(network),
      c: network.cellMode === 'lstm' ? rows * network.numUnits : 0,
      params: flatLayout(network).size,
    }
  }

  /** Makes descriptors and asks for sizes. Rejects with what cuDNN says. */
  static async make(session: DeviceSession, options: RawOptions): Promise<RawNetwork> {
    const { native, libraries } = session
    const { time, batch, precision = 'float32', algorithm = 'standard', training = true } = options
    const network = createRnnDescriptor(rnnOptions(options))
    const arithmetic = arithmeticOf(precision === 'float64' ? 'float64' : 'float32', nameOfPrecision(precision))
    const { dropout, states } = await makeDropout(session, options)
    const rnn = native.rnnDescriptor(
      libraries,
      ALGORITHMS[algorithm],
      CELL_MODE_NUMBERS[network.cellMode],
      BIAS_MODE_NUMBERS[network.biasMode],
      network.direction === 'bidirectional' ? 1 : 0,
      network.inputMode === 'skip_input' ? 1 : 0,
      arithmetic.dataType,
      arithmetic.mathPrecision,
      arithmetic.mathType,
      network.inputSize,
      network.numUnits,
      network.numProj ?? network.numUnits,
      network.numLayers,
      dropout,
      options.layout === 'packed' ? 0 : 1,
      network.cellClip ?? null,
    )
    const lengths = Int32Array.from(options.lengths ?? new Array(batch).fill(time))
    const type = elementType(arithmetic)
    const fill = options.fill === null ? null : encoded([options.fill ?? 0], type)
    const data = (columns: number) =>
      native.dataDescriptor(
        libraries,
        arithmetic.dataType,
        LAYOUTS[options.layout ?? 'padded'],
        time,
        batch,
        columns,
        lengths,
        fill,
      )
    const layers = numPseudoLayers(network)
    const state = (columns: number) => native.tensorDescriptor(libraries, arithmetic.dataType, layers, batch, columns)
    const x = data(network.inputSize)
    const mode = training ? FORWARD_MODE.training : FORWARD_MODE.inference
    if (algorithm === 'persist_dynamic') {
      await session.run('build', (_, handle) => native.buildRnnDynamic(handle, rnn, batch))
    }
    const temp = await session.run('size', (_, handle) => native.tempSpaceSizes(handle, rnn, mode, x))
    return new RawNetwork(session, {
      ...{ options, arithmetic, temp, rnn, x, dropout, states },
      y: data(outputSize(network)),
      h: state(hiddenColumns(network)),
      c: network.cellMode === 'lstm' ? state(network.numUnits) : null,
    })
  }

  /** Puts `values` on the device: x, hx, cx, params, dy, …; whatever is not set before a call is zeros. */
  async set(values: Readonly<Record<string, ArrayLike<number>>>): Promise<void> {
    await this.#session.run('set', () => {
      for (const [name, array] of Object.entries(values)) this.#upload(name, encoded(array, this.type))
    })
  }

  /** Puts a pointer of the host in a buffer's place. */
  misplaced(elements: number): Buffer {
    return this.#session.native.hostMemory(this.#session.handle, elements * this.#bytes)
  }

  /** Appends cudnnRNNForward; `x` replaces the input's buffer. */
  forward(x = this.#buffer('x', this.sizes.x)): void {
    const { native, handle } = this.#session
    const { training = true } = this.options
    const hasCell = this.#c !== null
    native.rnnForward(
      handle,
      this.#rnn,
      training ? FORWARD_MODE.training : FORWARD_MODE.inference,
      this.#shownLengths(),
      ...([this.#x, x, this.#y, this.#buffer('y', this.sizes.y)] as const),
      ...([this.#h, this.#given('hx'), this.#buffer('hy', this.sizes.h)] as const),
      ...([this.#c, hasCell ? this.#given('cx') : null, hasCell ? this.#buffer('cy', this.sizes.c) : null] as const),
      ...([this.#buffer('params', this.sizes.params), this.#work()] as const),
      training ? this.#reserve() : null,
    )
  }

  /** Appends cudnnRNNBackwardData_v8. */
  backwardData(): void {
    const { native, handle } = this.#session
    const hasCell = this.#c !== null
    native.rnnBackwardData(
      handle,
      this.#rnn,
      this.#shownLengths(),
      ...([this.#y, this.#buffer('y', this.sizes.y), this.#buffer('dy', this.sizes.y)] as const),
      ...([this.#x, this.#buffer('dx', this.sizes.x)] as const),
      ...([this.#h, this.#given('hx'), this.#given('dhy'), this.#buffer('dhx', this.sizes.h)] as const),
      ...([this.#c, hasCell ? this.#given('cx') : null, hasCell ? this.#given('dcy') : null] as const),
      hasCell ? this.#buffer('dcx', this.sizes.c) : null,
      ...([this.#buffer('params', this.sizes.params), this.#work(), this.#reserve()] as const),
    )
  }

  /** Appends cudnnRNNBackwardWeights_v8, which adds to dw. */
  backwardWeights(addGrad?: number): void {
    const { native, handle } = this.#session
    native.rnnBackwardWeights(
      handle,
      this.#rnn,
      this.#shownLengths(),
      ...([this.#x, this.#buffer('x', this.sizes.x), this.#h, this.#given('hx')] as const),
      ...([this.#y, this.#buffer('y', this.sizes.y), this.#buffer('dw', this.sizes.params)] as const),
      ...([this.#work(), this.#reserve(), addGrad] as const),
    )
  }

  /** Makes every buffer that the calls need, so that nothing is allocated while they are recorded or timed. */
  async prepare(): Promise<void> {
    await this.#session.run('prepare', () => {
      this.#buffer('x', this.sizes.x)
      for (const name of ['y', 'dy']) this.#buffer(name, this.sizes.y)
      for (const name of ['dx']) this.#buffer(name, this.sizes.x)
      for (const name of ['hy', 'dhx']) this.#buffer(name, this.sizes.h)
      if (this.#c !== null) for (const name of ['cy', 'dcx']) this.#buffer(name, this.sizes.c)
      for (const name of ['params', 'dw']) this.#buffer(name, this.sizes.params)
      this.#work()
      if (this.options.training ?? true) this.#reserve()
      this.#shownLengths()
    })
  }

  /** Runs what `append` appends and waits for the device. */
  async run(append: () => void): Promise<void> {
    await this.#session.finish('run', append)
  }

  async get(...names: readonly string[]): Promise<Values> {
    const bytes: Record<string, Uint8Array> = {}
    await this.#session.finish('get', (native, handle) => {
      for (const name of names) {
        const buffer = this.#buffers.get(name)
        if (buffer === undefined) continue
        bytes[name] = new Uint8Array(buffer.bytes)
        native.download(handle, buffer.handle, 0, bytes[name])
      }
    })
    return Object.fromEntries(Object.entries(bytes).map(([name, array]) => [name, decoded(array, this.type)]))
  }

  dispose(): void {
    const { native } = this.#session
    for (const buffer of this.#buffers.values()) buffer.release()
    for (const one of [this.#rnn, this.#x, this.#y, this.#h, this.#c, this.#dropout]) {
      if (one !== null) native.releaseDescriptor(one)
    }
    this.#states?.release()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  #given(name: string): Buffer | null {
    return this.#buffers.get(name)?.handle ?? null
  }

  #buffer(name: string, elements: number): Buffer {
    return this.#zeroed(name, elements * this.#bytes)
  }

  #work(): Buffer {
    return this.#zeroed('work', this.workspaceBytes)
  }

  #reserve(): Buffer {
    return this.#zeroed('reserve', this.reserveBytes)
  }

  #zeroed(name: string, bytes: number): Buffer {
    let buffer = this.#buffers.get(name)
    if (buffer === undefined) {
      buffer = new DeviceBuffer(this.#session, bytes)
      this.#session.native.clear(this.#session.handle, buffer.handle, 0, bytes)
      this.#buffers.set(name, buffer)
    }
    return buffer.handle
  }

  #upload(name: string, bytes: Uint8Array): void {
    let buffer = this.#buffers.get(name)
    if (buffer === undefined) {
      buffer = new DeviceBuffer(this.#session, bytes.length)
      this.#buffers.set(name, buffer)
    }
    this.#session.native.upload(this.#session.handle, buffer.handle, 0, bytes)
  }

  #shownLengths(): Buffer | null {
    const { shownLengths, lengths, batch, time } = this.options
    if (shownLengths === null) return null
    const known = this.#buffers.get('lengths')
    if (known !== undefined) return known.handle
    const shown = Int32Array.from(shownLengths ?? lengths ?? new Array(batch).fill(time))
    this.#upload('lengths', new Uint8Array(shown.buffer))
    return this.#buffers.get('lengths')!.handle
  }
}

interface RawParts {
  readonly options: RawOptions
  readonly arithmetic: Arithmetic
  readonly temp: Float64Array
  readonly rnn: RnnDescriptorHandle
  readonly x: DataDescriptor
  readonly y: DataDescriptor
  readonly h: TensorDescriptor
  readonly c: TensorDescriptor | null
  readonly dropout: DropoutDescriptor | null
  readonly states: DeviceBuffer | undefined
}

/** The generator of a network with dropout, set as cuDNN wants it: before the network's descriptor. */
async function makeDropout(session: DeviceSession, { dropout = 0, dropoutSeed = 1 }: RawOptions) {
  if (dropout === 0) return { dropout: null, states: undefined }
  const { native, libraries, info } = session
  const descriptor = native.dropoutDescriptor(libraries)
  let states: DeviceBuffer | undefined
  await session.run('set dropout', (_, handle) => {
    states = new DeviceBuffer(session, info.dropoutStatesBytes)
    native.setDropoutDescriptor(handle, descriptor, dropout, states.handle, dropoutSeed)
  })
  return { dropout: descriptor, states }
}

function rnnOptions(options: RawOptions): RnnOptions {
  const { cellMode, numLayers, numUnits, inputSize, inputMode = 'linear_input', direction, numProj, dropout } = options
  const { cellClip, biasMode } = options
  return { cellMode, numLayers, numUnits, inputSize, inputMode, direction, numProj, dropout, cellClip, biasMode }
}

function vectorsOf({ layout, lengths, time, batch }: RawOptions): number {
  return layout === 'packed' && lengths !== undefined ? lengths.reduce((sum, n) => sum + n, 0) : time * batch
}

function nameOfPrecision(precision: Arithmetic['precision']) {
  return precision === 'float64' ? undefined : precision
}

function elementType({ precision }: Arithmetic): ElementType {
  return precision === 'tf32' ? 'float32' : precision
}
