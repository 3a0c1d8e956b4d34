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
  type Algorithm,
  type Arithmetic,
  arithmeticOf,
  type CommandList,
  type DataDescriptor,
  type DeviceBuffer,
  type DeviceSession,
  type DropoutDescriptor,
  FORWARD_MODE,
  type Graph,
  MODE,
  type RnnDescriptorId,
  setRnnDescriptor,
  type TensorDescriptor,
} from '@cudnn-rnn/cudnn/validation'

/** Memory orders of a batch's vectors: cudnnRNNDataLayout_t. */
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
  /** The lengths in device memory: the real ones by default, null, or others. */
  readonly shownLengths?: readonly number[] | null
  readonly training?: boolean
  readonly dropoutSeed?: number
}

/** Values of sequences and states by cuDNN's names. */
export type Values = Readonly<Record<string, Float64Array>>

/**
 * One network on bare cuDNN, without the executor's corrections for padding, empty rows and refusals. Arrays are
 * float64 on the host and converted to the element type.
 */
export class RawNetwork {
  readonly type: ElementType
  readonly options: RawOptions
  readonly reserveBytes: number
  readonly workspaceBytes: number
  readonly sizes: Readonly<Record<'x' | 'y' | 'h' | 'c' | 'params', number>>
  readonly #session: DeviceSession
  readonly #rnn: RnnDescriptorId
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
    this.workspaceBytes = temp[0]
    this.reserveBytes = temp[1]
    this.sizes = {
      x: vectors * network.inputSize,
      y: vectors * outputSize(network),
      h: rows * hiddenColumns(network),
      c: network.cellMode === 'lstm' ? rows * network.numUnits : 0,
      params: flatLayout(network).size,
    }
  }

  /** Makes descriptors and queries sizes. Rejects with cuDNN's error. */
  static async make(session: DeviceSession, options: RawOptions): Promise<RawNetwork> {
    const { time, batch, precision = 'float32', algorithm = 'standard', training = true, layout = 'padded' } = options
    const network = createRnnDescriptor(rnnOptions(options))
    const arithmetic = arithmeticOf(precision === 'float64' ? 'float64' : 'float32', nameOfPrecision(precision))
    const { dropout, states } = await makeDropout(session, options)
    const list = session.list('make')
    const descriptor = session.newId<RnnDescriptorId>()
    setRnnDescriptor(list, descriptor, network, { arithmetic, algorithm, dropout, hasPaddedIo: layout !== 'packed' })
    const seqLengthArray = Int32Array.from(options.lengths ?? new Array(batch).fill(time))
    const paddingFill = options.fill === null ? null : encoded([options.fill ?? 0], elementType(arithmetic))
    const common = { dtype: arithmetic.dataType, layout: LAYOUTS[layout], maxSeqLength: time, batchSize: batch }
    const data = (vectorSize: number) => {
      const made = session.newId<DataDescriptor>()
      list.add('setDataDescriptor', { descriptor: made, ...common, vectorSize, seqLengthArray, paddingFill })
      return made
    }
    const layers = numPseudoLayers(network)
    const state = (columns: number) => {
      const made = session.newId<TensorDescriptor>()
      list.add('setTensorDescriptor', { descriptor: made, dtype: arithmetic.dataType, layers, batch, columns })
      return made
    }
    const descriptors = {
      ...{ x: data(network.inputSize), y: data(outputSize(network)), h: state(hiddenColumns(network)) },
      c: network.cellMode === 'lstm' ? state(network.numUnits) : null,
    }
    if (algorithm === 'persist_dynamic') list.add('buildRnnDynamic', { descriptor, batch })
    const mode = training ? FORWARD_MODE.training : FORWARD_MODE.inference
    list.add('tempSpaceSizes', { descriptor, mode, xDesc: descriptors.x })
    const temp = await session.run(list)
    return new RawNetwork(session, { options, arithmetic, temp, rnn: descriptor, ...descriptors, dropout, states })
  }

  /** Puts `values` on the device: x, hx, cx, params, dy, …; those not set before a call are zeros. */
  async set(values: Readonly<Record<string, ArrayLike<number>>>): Promise<void> {
    const list = this.list('set')
    for (const [name, array] of Object.entries(values)) this.#upload(list, name, encoded(array, this.type))
    await this.#session.run(list)
  }

  list(action: string): CommandList {
    return this.#session.list(action)
  }

  /** Puts a pointer of the host in a buffer's place. */
  misplaced(list: CommandList, elements: number): DeviceBuffer {
    return list.allocateOnHost(elements * this.#bytes)
  }

  /** Adds cudnnRNNForward to `list`; `x` replaces the input's buffer. */
  forward(list: CommandList, x = this.#buffer(list, 'x', this.sizes.x)): void {
    const { training = true } = this.options
    const hasCell = this.#c !== null
    list.add('rnnForward', {
      descriptor: this.#rnn,
      mode: training ? FORWARD_MODE.training : FORWARD_MODE.inference,
      devSeqLengths: this.#shownLengths(list),
      ...{ xDesc: this.#x, x, yDesc: this.#y, y: this.#buffer(list, 'y', this.sizes.y) },
      ...{ hDesc: this.#h, hx: this.#given('hx'), hy: this.#buffer(list, 'hy', this.sizes.h) },
      ...{ cDesc: this.#c, cx: hasCell ? this.#given('cx') : null },
      cy: hasCell ? this.#buffer(list, 'cy', this.sizes.c) : null,
      ...{ weightSpace: this.#buffer(list, 'params', this.sizes.params), workSpace: this.#work(list) },
      reserveSpace: training ? this.#reserve(list) : null,
    })
  }

  /** Adds cudnnRNNBackwardData_v8 to `list`. */
  backwardData(list: CommandList): void {
    const hasCell = this.#c !== null
    list.add('rnnBackwardData', {
      ...{ descriptor: this.#rnn, devSeqLengths: this.#shownLengths(list) },
      ...{ yDesc: this.#y, y: this.#buffer(list, 'y', this.sizes.y), dy: this.#buffer(list, 'dy', this.sizes.y) },
      ...{ xDesc: this.#x, dx: this.#buffer(list, 'dx', this.sizes.x) },
      ...{ hDesc: this.#h, hx: this.#given('hx'), dhy: this.#given('dhy') },
      ...{ dhx: this.#buffer(list, 'dhx', this.sizes.h), cDesc: this.#c },
      ...{ cx: hasCell ? this.#given('cx') : null, dcy: hasCell ? this.#given('dcy') : null },
      dcx: hasCell ? this.#buffer(list, 'dcx', this.sizes.c) : null,
      ...{ weightSpace: this.#buffer(list, 'params', this.sizes.params), workSpace: this.#work(list) },
      reserveSpace: this.#reserve(list),
    })
  }

  /** Adds cudnnRNNBackwardWeights_v8, which adds to dw, to `list`. */
  backwardWeights(list: CommandList, addGrad = 0): void {
    list.add('rnnBackwardWeights', {
      ...{ descriptor: this.#rnn, addGrad, devSeqLengths: this.#shownLengths(list) },
      ...{ xDesc: this.#x, x: this.#buffer(list, 'x', this.sizes.x), hDesc: this.#h, hx: this.#given('hx') },
      ...{ yDesc: this.#y, y: this.#buffer(list, 'y', this.sizes.y) },
      ...{ dweightSpace: this.#buffer(list, 'dw', this.sizes.params), workSpace: this.#work(list) },
      reserveSpace: this.#reserve(list),
    })
  }

  /** Adds what one pass computes: a forward and, in training, a backward. */
  step(list: CommandList): void {
    this.forward(list)
    if (this.options.training === false) return
    this.backwardData(list)
    this.backwardWeights(list)
  }

  /** Makes every buffer that the calls need, so that nothing is allocated while they are captured or timed. */
  async prepare(): Promise<void> {
    const list = this.list('prepare')
    this.#buffer(list, 'x', this.sizes.x)
    for (const name of ['y', 'dy']) this.#buffer(list, name, this.sizes.y)
    this.#buffer(list, 'dx', this.sizes.x)
    for (const name of ['hy', 'dhx']) this.#buffer(list, name, this.sizes.h)
    if (this.#c !== null) for (const name of ['cy', 'dcx']) this.#buffer(list, name, this.sizes.c)
    for (const name of ['params', 'dw']) this.#buffer(list, name, this.sizes.params)
    this.#work(list)
    if (this.options.training ?? true) this.#reserve(list)
    this.#shownLengths(list)
    await this.#session.run(list)
  }

  /** Runs what `add` adds and waits for the device. */
  async run(add: (list: CommandList) => void): Promise<void> {
    const list = this.list('run')
    add(list)
    await this.#session.finish(list)
  }

  /** Milliseconds that the device takes for what `add` adds. */
  time(add: (list: CommandList) => void): Promise<number> {
    const list = this.list('time')
    add(list)
    return this.#session.queue.time(list)
  }

  /** What `add` adds, as a graph; destroyed with the session, or by `session.destroy`. */
  async captured(add: (list: CommandList) => void): Promise<Graph> {
    const graph = this.#session.newId<Graph>()
    const list = this.list('capture')
    add(list)
    await this.#session.queue.submit(list, { mode: MODE.promise, graph })
    return graph
  }

  /** Launches a graph and waits for the device. */
  replay(exec: Graph): Promise<void> {
    return this.run((list) => list.add('launchGraph', { exec }))
  }

  async get(...names: readonly string[]): Promise<Values> {
    const bytes: Record<string, Uint8Array> = {}
    const list = this.list('get')
    for (const name of names) {
      const buffer = this.#buffers.get(name)
      if (buffer === undefined) continue
      const to = new Uint8Array(buffer.bytes)
      bytes[name] = to
      list.add('download', { from: buffer, offset: 0, to })
    }
    await this.#session.finish(list)
    return Object.fromEntries(Object.entries(bytes).map(([name, array]) => [name, decoded(array, this.type)]))
  }

  dispose(): void {
    for (const buffer of this.#buffers.values()) buffer.release()
    this.#session.destroy(this.#rnn, this.#x, this.#y, this.#h, this.#c, this.#dropout)
    this.#states?.release()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  #given(name: string): DeviceBuffer | undefined {
    return this.#buffers.get(name)
  }

  #buffer(list: CommandList, name: string, elements: number): DeviceBuffer {
    return this.#zeroed(list, name, elements * this.#bytes)
  }

  #work(list: CommandList): DeviceBuffer {
    return this.#zeroed(list, 'work', this.workspaceBytes)
  }

  #reserve(list: CommandList): DeviceBuffer {
    return this.#zeroed(list, 'reserve', this.reserveBytes)
  }

  #zeroed(list: CommandList, name: string, bytes: number): DeviceBuffer {
    const known = this.#buffers.get(name)
    if (known !== undefined) return known
    const buffer = list.allocate(bytes)
    list.add('clear', { to: buffer, offset: 0, bytes })
    this.#buffers.set(name, buffer)
    return buffer
  }

  #upload(list: CommandList, name: string, bytes: Uint8Array): DeviceBuffer {
    const buffer = this.#buffers.get(name) ?? list.allocate(bytes.length)
    this.#buffers.set(name, buffer)
    list.upload(buffer, bytes)
    return buffer
  }

  #shownLengths(list: CommandList): DeviceBuffer | undefined {
    const { shownLengths, lengths, batch, time } = this.options
    if (shownLengths === null) return undefined
    const known = this.#buffers.get('lengths')
    if (known !== undefined) return known
    const shown = Int32Array.from(shownLengths ?? lengths ?? new Array(batch).fill(time))
    return this.#upload(list, 'lengths', new Uint8Array(shown.buffer))
  }
}

interface RawParts {
  readonly options: RawOptions
  readonly arithmetic: Arithmetic
  readonly temp: Float64Array
  readonly rnn: RnnDescriptorId
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
  const descriptor = session.newId<DropoutDescriptor>()
  const list = session.list('set dropout')
  const states = list.allocate(session.info.dropoutStatesBytes)
  list.add('setDropoutDescriptor', { descriptor, rate: dropout, states, seed: dropoutSeed })
  await session.run(list)
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
  return precision === 'tf32' || precision === 'tf32x3' ? 'float32' : precision
}
