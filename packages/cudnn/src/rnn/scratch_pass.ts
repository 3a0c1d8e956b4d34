import { flatLayout, outputSize, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/ops/executor'
import type { CommandList } from '../device/command_list.js'
import type { CommandQueue } from '../device/command_queue.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import type { DeviceSession } from '../device/device_session.js'
import type { Arithmetic } from '../device/precision.js'
import { MODE } from '../sys/commands.js'
import { type Algorithm, FORWARD_MODE } from '../sys/cudnn_enums.js'
import type { DropoutDescriptor, Graph, ObjectId, RnnDescriptorId } from '../sys/native_addon.js'
import { setRnnDescriptor, stateElements } from './network_descriptors.js'
import type { PersistentPass } from './persistent_pass.js'
import { callBackward, callForward, type RnnCall, setPassDescriptors, uploadLengths } from './rnn_call.js'

/** The pass to try before it is used. */
export interface ScratchOptions {
  readonly network: RnnDescriptor
  readonly arithmetic: Arithmetic
  readonly sizes: RnnPassSizes
  readonly training: boolean
  readonly algorithm: Algorithm
  readonly dropout: DropoutDescriptor | null
  /** Kernels in the place of cuDNN's. */
  readonly persistent?: PersistentPass | undefined
}

/** Odd, so that rows of a matrix differ. */
const NUMBERS_DRAWN = 8191
/** The upper byte of numbers from 1/32 on: less than 1/8 in float32 and bfloat16, 5/64 in float16. */
const UPPER_BYTE = { float16: 0x28, others: 0x3d } as const

/**
 * `bytes` of small numbers of both signs, the same ones each time: zeros or denormals could be faster or slower than real
 * values, and equal ones would hide a kernel that confuses them.
 */
function numbers(bytes: number, arithmetic: Arithmetic): Uint8Array {
  const drawn = new Uint8Array(bytes)
  const upper = arithmetic.half === 'float16' ? UPPER_BYTE.float16 : UPPER_BYTE.others
  const period = Math.min(bytes, NUMBERS_DRAWN * arithmetic.bytes)
  let state = 1
  for (let k = 0; k < period; k++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const byte = state >>> 24
    drawn[k] = k % arithmetic.bytes === arithmetic.bytes - 1 ? upper | (byte & 0x80) : byte
  }
  for (let done = period; done < bytes; done *= 2) drawn.copyWithin(done, 0, done)
  return drawn
}

type Buffers = Readonly<
  Record<
    'x' | 'y' | 'hy' | 'cy' | 'weights' | 'dx' | 'dy' | 'dhx' | 'dcx' | 'dw' | 'workSpace' | 'reserve',
    DeviceBuffer
  >
>

interface Parts {
  readonly session: DeviceSession
  readonly queue: CommandQueue
  /** The numbers of its descriptors and graphs. */
  readonly ids: ObjectId<string>[]
  readonly sizes: RnnPassSizes
  readonly call: RnnCall
  readonly buffers: Buffers
}

/** A pass on separate memory and descriptors, in an exclusive section. */
export class ScratchPass {
  readonly #parts: Parts

  private constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Rejects with cuDNN's error if it refuses the descriptors or memory is short; nothing is left allocated then. */
  static async make(session: DeviceSession, queue: CommandQueue, options: ScratchOptions): Promise<ScratchPass> {
    const { network, arithmetic, sizes, training, algorithm } = options
    const ids: ObjectId<string>[] = []
    const buffers: DeviceBuffer[] = []
    try {
      // A separate descriptor: a refused algorithm must not leave a network's descriptor half set.
      const rnn = session.newId<RnnDescriptorId>()
      const asked = session.list('try an algorithm')
      setRnnDescriptor(asked, rnn, network, { ...options, hasPaddedIo: sizes.sequenceLengths !== null })
      const descriptors = setPassDescriptors(session, asked, arithmetic, network, sizes)
      const lengths = uploadLengths(session, asked, sizes)
      ids.push(rnn, descriptors.x, descriptors.y, descriptors.h, ...(descriptors.c ? [descriptors.c] : []))
      for (const buffer of [lengths.given, lengths.real]) if (buffer) buffers.push(buffer)
      if (algorithm === 'persist_dynamic') asked.add('buildRnnDynamic', { descriptor: rnn, batch: sizes.batch })
      const mode = training ? FORWARD_MODE.training : FORWARD_MODE.inference
      asked.add('tempSpaceSizes', { descriptor: rnn, mode, xDesc: descriptors.x })
      // cuDNN refuses most unsupported combinations in this query, before memory is allocated.
      const [workspaceBytes, ofCudnn] = (await queue.run(asked)) as unknown as [number, number]
      const { persistent } = options
      const reserveBytes = persistent === undefined || !training ? ofCudnn : persistent.reserveBytes
      const list = session.list('make room for a trial')
      const bytes = (count: number) => {
        const to = list.allocate(count)
        buffers.push(to)
        list.add('clear', { to, offset: 0, bytes: count })
        return to
      }
      const elements = (count: number) => bytes(count * arithmetic.bytes)
      // Only x, the weights and dy: everything else is computed from them.
      const filled = (count: number) => {
        const buffer = elements(count)
        list.upload(buffer, numbers(buffer.bytes, arithmetic))
        return buffer
      }
      const { h, c } = stateElements(network, sizes.batch)
      const steps = sizes.time * sizes.batch
      const params = flatLayout(network).size
      // Inference has no gradients: their buffers are empty.
      const trained = training ? 1 : 0
      const made = {
        ...{ x: filled(steps * network.inputSize), y: elements(steps * outputSize(network)) },
        ...{ hy: elements(h), cy: elements(c), weights: filled(params) },
        ...{ dx: elements(trained * steps * network.inputSize), dy: filled(trained * steps * outputSize(network)) },
        ...{ dhx: elements(trained * h), dcx: elements(trained * c), dw: elements(trained * params) },
        ...{ workSpace: bytes(workspaceBytes), reserve: bytes(reserveBytes) },
      }
      await queue.run(list)
      const temp = { workspaceBytes, reserveBytes, workSpace: made.workSpace }
      const call = { rnn, training, descriptors, lengths, ...temp, persistent }
      return new ScratchPass({ session, queue, ids, sizes, call, buffers: made })
    } catch (error) {
      queue.releaseNow([...ids, ...buffers.map((buffer) => buffer.discard())])
      throw error
    }
  }

  get hy(): DeviceBuffer {
    return this.#parts.buffers.hy
  }

  /** Empty in inference. */
  get reserve(): DeviceBuffer {
    return this.#parts.buffers.reserve
  }

  forward(list: CommandList): void {
    const { x, y, weights, reserve, hy, cy } = this.#parts.buffers
    const { training } = this.#parts.call
    callForward(
      list,
      this.#parts.call,
      { x, y, weights, reserve: training ? reserve : undefined },
      { hy, cy: this.#cell(cy) },
    )
  }

  whole(list: CommandList): void {
    this.forward(list)
    if (!this.#parts.call.training) return
    const { x, y, weights, reserve, dy, dx, dhx, dcx, dw } = this.#parts.buffers
    callBackward(list, this.#parts.call, { x, y, weights, reserve }, { dy }, { dx, dhx, dcx: this.#cell(dcx), dw })
  }

  /**
   * Runs a whole pass; the bytes of each of its results. Zeros are past the end of a row of y and dx: persistent kernels leave
   * other numbers in y there, and cuDNN's dx is not documented.
   */
  async results(): Promise<readonly Uint8Array[]> {
    const { y, hy, cy, dx, dhx, dcx, dw } = this.#parts.buffers
    const list = this.#parts.session.list('try a kernel')
    const read = [y, hy, this.#cell(cy), dx, dhx, this.#cell(dcx), dw].filter(
      (one) => one !== undefined && one.bytes > 0,
    )
    this.whole(list)
    const results = read.map((from) => {
      const to = new Uint8Array((from as DeviceBuffer).bytes)
      list.add('download', { from: from as DeviceBuffer, offset: 0, to })
      return to
    })
    await this.#parts.queue.finish(list)
    for (const [k, from] of read.entries()) if (from === y || from === dx) this.#clearPadding(results[k])
    return results
  }

  #clearPadding(sequence: Uint8Array): void {
    const { time, batch, sequenceLengths } = this.#parts.sizes
    const bytes = sequence.length / (time * batch)
    for (const [row, length] of (sequenceLengths ?? []).entries()) {
      for (let step = length; step < time; step++) {
        const begin = (step * batch + row) * bytes
        sequence.fill(0, begin, begin + bytes)
      }
    }
  }

  /** The commands that `add` adds, captured as a graph, which goes with the pass. */
  async captured(add: (list: CommandList) => void): Promise<Graph> {
    const { session, queue, ids } = this.#parts
    const graph = session.newId<Graph>()
    const list = session.list('capture a trial')
    add(list)
    await queue.submit(list, { mode: MODE.promise, graph })
    ids.push(graph)
    return graph
  }

  /** Frees everything after the trial's own commands, without waiting. */
  release(): void {
    const { given, real } = this.#parts.call.lengths
    const lengths = [given, real].filter((buffer) => buffer !== undefined)
    const buffers = [...Object.values(this.#parts.buffers), ...lengths]
    this.#parts.queue.releaseNow([...this.#parts.ids, ...buffers.map((buffer) => buffer.discard())])
  }

  /** Cells without a cell state have no descriptor of c, and cuDNN requires null pointers then. */
  #cell(buffer: DeviceBuffer): DeviceBuffer | undefined {
    return this.#parts.call.descriptors.c === null ? undefined : buffer
  }
}
