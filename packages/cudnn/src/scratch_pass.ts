import { flatLayout, outputSize, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/executor-kit'
import { type Algorithm, FORWARD_MODE } from './cudnn_enums.js'
import { DeviceBuffer } from './device_buffer.js'
import type { Append, DeviceSession, Lane } from './device_session.js'
import type { DropoutDescriptor, Graph, RnnDescriptorHandle } from './native_addon.js'
import { makeRnnDescriptor, stateElements } from './network_descriptors.js'
import { PassBuffers } from './pass_buffers.js'
import type { Arithmetic } from './precision.js'
import { DeviceLengths, type PassDescriptors, passDescriptors, releaseDescriptors, tempSpaceSizes } from './rnn_plan.js'

/** What is tried before it is relied on. */
export interface ScratchOptions {
  readonly network: RnnDescriptor
  readonly arithmetic: Arithmetic
  readonly sizes: RnnPassSizes
  readonly training: boolean
  readonly algorithm: Algorithm
  readonly dropout: DropoutDescriptor | null
}

/** Every byte of operands and weights: a small positive number in each element type. */
const FILLING = 0x3c

/** A pass on memory and descriptors of its own. Everything is made where the queue is held. */
export class ScratchPass {
  readonly hy: DeviceBuffer
  /** Empty in inference. */
  readonly reserve: DeviceBuffer
  readonly #forward: Append
  readonly #backward: Append
  readonly #release: () => void

  private constructor(
    buffers: { readonly hy: DeviceBuffer; readonly reserve: DeviceBuffer },
    passes: { readonly forward: Append; readonly backward: Append },
    release: () => void,
  ) {
    this.hy = buffers.hy
    this.reserve = buffers.reserve
    this.#forward = passes.forward
    this.#backward = passes.backward
    this.#release = release
  }

  /** Rejects with what cuDNN refused; nothing is left behind then. */
  static async make(session: DeviceSession, lane: Lane, options: ScratchOptions): Promise<ScratchPass> {
    const { network, arithmetic, sizes, training, algorithm, dropout } = options
    const { native, libraries } = session
    const owned = new PassBuffers()
    let lengths: DeviceLengths | undefined
    let rnn: RnnDescriptorHandle | undefined
    let descriptors: PassDescriptors | undefined
    const release = () => {
      owned.release()
      lengths?.release()
      if (rnn !== undefined) session.releaseDescriptor(rnn)
      if (descriptors !== undefined) releaseDescriptors(session, descriptors)
    }
    try {
      const made = makeRnnDescriptor(
        native,
        libraries,
        ...([arithmetic, network, algorithm, dropout, sizes.sequenceLengths !== null] as const),
      )
      rnn = made
      const shapes = passDescriptors(session, arithmetic, network, sizes)
      descriptors = shapes
      if (algorithm === 'persist_dynamic') {
        await lane.run('try an algorithm', (_, handle) => native.buildRnnDynamic(handle, made, sizes.batch))
      }
      const temp = await tempSpaceSizes(lane, made, training, shapes.x)
      const { h, c } = stateElements(network, sizes.batch)
      const steps = sizes.time * sizes.batch
      const params = flatLayout(network).size
      let buffers: ReturnType<typeof allocated> | undefined
      const bytes = (count: number) => owned.own(new DeviceBuffer(session, count))
      const elements = (count: number) => bytes(count * arithmetic.bytes)
      const allocated = () => ({
        ...{ x: elements(steps * network.inputSize), y: elements(steps * outputSize(network)) },
        ...{ hy: elements(h), cy: elements(c), weights: elements(params) },
        ...{ dx: elements(training ? steps * network.inputSize : 0) },
        ...{ dy: elements(training ? steps * outputSize(network) : 0) },
        ...{ dhx: elements(training ? h : 0), dcx: elements(training ? c : 0), dw: elements(training ? params : 0) },
        ...{ work: bytes(temp.workspaceBytes), reserve: bytes(temp.reserveBytes) },
      })
      await lane.run('make room for a trial', (_, handle) => {
        lengths = new DeviceLengths(session, sizes)
        buffers = allocated()
        for (const buffer of Object.values(buffers)) native.clear(handle, buffer.handle, 0, buffer.bytes)
        for (const { handle: filled, bytes: size } of [buffers.x, buffers.weights]) {
          native.upload(handle, filled, 0, new Uint8Array(size).fill(FILLING))
        }
      })
      const { x, y, hy, cy, weights, dx, dy, dhx, dcx, dw, work, reserve } = buffers!
      const shown = lengths!.shown?.handle ?? null
      const hasCell = shapes.c !== null
      const forward: Append = (_, handle) =>
        native.rnnForward(
          handle,
          made,
          training ? FORWARD_MODE.training : FORWARD_MODE.inference,
          shown,
          ...([shapes.x, x.handle, shapes.y, y.handle] as const),
          ...([shapes.h, null, hy.handle, shapes.c, null, hasCell ? cy.handle : null] as const),
          ...([weights.handle, work.handle, training ? reserve.handle : null] as const),
        )
      const backward: Append = (_, handle) => {
        native.rnnBackwardData(
          handle,
          made,
          shown,
          ...([shapes.y, y.handle, dy.handle, shapes.x, dx.handle] as const),
          ...([shapes.h, null, null, dhx.handle] as const),
          ...([shapes.c, null, null, hasCell ? dcx.handle : null] as const),
          ...([weights.handle, work.handle, reserve.handle] as const),
        )
        native.rnnBackwardWeights(
          handle,
          made,
          shown,
          ...([shapes.x, x.handle, shapes.h, null, shapes.y, y.handle] as const),
          ...([dw.handle, work.handle, reserve.handle] as const),
        )
      }
      return new ScratchPass({ hy, reserve }, { forward, backward: training ? backward : () => {} }, release)
    } catch (error) {
      release()
      throw error
    }
  }

  /** Appends the forward. */
  readonly forward: Append = (...at) => this.#forward(...at)

  /** Appends the forward and, in training, the backward. */
  readonly whole: Append = (...at) => {
    this.#forward(...at)
    this.#backward(...at)
  }

  release(): void {
    this.#release()
  }
}

/** What `append` appends, as a graph; the caller releases it. */
export async function capturedAlone(session: DeviceSession, lane: Lane, append: Append): Promise<Graph> {
  let graph: Graph | undefined
  try {
    await lane.run('capture a trial', (native, handle) => {
      native.beginCapture(handle)
      append(native, handle)
      graph = session.endCapture()
    })
    return graph!
  } catch (error) {
    if (graph !== undefined) session.releaseGraph(graph)
    throw error
  }
}
