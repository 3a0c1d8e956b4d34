import { isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import {
  hiddenColumns,
  outputSize,
  type ParamLayout,
  type PlacedRegion,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import { passShapes, type RnnPassSizes } from '@cudnn-rnn/executor-kit'
import { Conversion } from './conversion.js'
import { FORWARD_MODE } from './cudnn_enums.js'
import type { CudnnExecutor } from './cudnn_executor.js'
import type { TapeContents, TapeLease } from './cudnn_tape.js'
import { CudnnTensor } from './cudnn_tensor.js'
import { DeviceBuffer } from './device_buffer.js'
import type { Append, Lane } from './device_session.js'
import { type GraphTrial, timed } from './graph_trial.js'
import { hasDropout, stateElements } from './network_descriptors.js'
import type { PassBuffers } from './pass_buffers.js'
import type { RnnPlan } from './rnn_plan.js'

/** Arguments of a pass on the device, in the executor's element type. */
export type Given<Name extends string> = Readonly<Record<Name, DeviceBuffer | undefined>>

/** `weights` are `params` as cuDNN reads them, where the pass need not convert them. */
export type ForwardOperand = 'input' | 'inputH' | 'inputC' | 'params' | 'weights'
export type BackwardOperand = 'output' | 'outputH' | 'outputC'

/** What a forward made: results in the executor's element type, and what cuDNN read and wrote. */
export interface ForwardBuffers {
  readonly plan: RnnPlan
  readonly output: DeviceBuffer
  readonly outputH: DeviceBuffer
  readonly outputC: DeviceBuffer | undefined
  readonly kept: Omit<TapeContents['buffers'], 'reserve'> & { readonly reserve: DeviceBuffer | undefined }
  /** The graphs whose fixed buffers `kept` is, until the tape gives them back. */
  readonly graphs?: TapeLease | undefined
}

export interface BackwardBuffers {
  readonly input: DeviceBuffer
  readonly inputH: DeviceBuffer
  readonly inputC: DeviceBuffer | undefined
  readonly params: DeviceBuffer
}

/** The passes of one network: what cuDNN is called with, and what is put right before and after it. */
export class RnnPasses {
  readonly #executor: CudnnExecutor
  readonly #network: RnnDescriptor
  readonly #layout: ParamLayout
  readonly #conversion: Conversion
  readonly #isLstm: boolean

  constructor(executor: CudnnExecutor, network: RnnDescriptor, layout: ParamLayout) {
    this.#executor = executor
    this.#network = network
    this.#layout = layout
    this.#conversion = new Conversion(executor.memory, executor.kernels, executor.arithmetic)
    this.#isLstm = network.cellMode === 'lstm'
  }

  /** The arguments' buffers; host arrays are read now and uploaded in a batch of their own. */
  operands<Name extends string>(
    owned: PassBuffers,
    tensors: Readonly<Record<Name, TensorLike | null | undefined>>,
  ): Given<Name> {
    const { memory, session } = this.#executor
    const given: Partial<Record<Name, DeviceBuffer | undefined>> = {}
    const take = (hostArrays: boolean) => {
      for (const [name, tensor] of Object.entries<TensorLike | null | undefined>(tensors)) {
        if (tensor === null || tensor === undefined || isBackendTensor(tensor) === hostArrays) continue
        given[name as Name] = owned.own(memory.operand(tensor))
      }
    }
    take(false)
    const needsUpload = Object.values<TensorLike | null | undefined>(tensors).some(
      (tensor) => tensor !== null && tensor !== undefined && !isBackendTensor(tensor),
    )
    if (needsUpload) session.post(() => take(true))
    return given as Given<Name>
  }

  /** The parameters as cuDNN reads them, where the conversion serves other passes too; the caller releases them. */
  sharedWeights(params: TensorLike, training: boolean): DeviceBuffer | undefined {
    if (!(params instanceof CudnnTensor) || (training && this.#droppedInputs().length > 0)) return undefined
    return this.#conversion.shared(params, this.#layout.size)
  }

  /** Queues a forward, timed while `trial` awaits it. Rejects with the failed call's CudnnError; nothing has changed then. */
  async forward(
    lane: Lane,
    plan: RnnPlan,
    given: Given<ForwardOperand>,
    made: PassBuffers,
    trial?: GraphTrial | undefined,
  ): Promise<ForwardBuffers> {
    let result: ForwardBuffers | undefined
    const append = () => {
      result = this.appendForward(plan, given, made)
    }
    await this.#issueTimed(lane, 'run forward', append, trial)
    return result!
  }

  /** Queues a backward. Rejects as {@link forward}. */
  async backward(
    lane: Lane,
    { plan, buffers }: TapeContents,
    given: Given<BackwardOperand>,
    made: PassBuffers,
    trial?: GraphTrial | undefined,
  ): Promise<BackwardBuffers> {
    let result: BackwardBuffers | undefined
    const append = () => {
      result = this.appendBackward(plan, buffers, given, made)
    }
    await this.#issueTimed(lane, 'run backward', append, trial)
    return result!
  }

  /** Appends a forward to the batch under construction. */
  appendForward(plan: RnnPlan, given: Given<ForwardOperand>, made: PassBuffers): ForwardBuffers {
    const { session, workspace } = this.#executor
    const { lengths, descriptors, training } = plan
    const conversion = this.#conversion
    const sizes = this.elements(plan.sizes)
    const own = made.own.bind(made)
    const input = own(this.#withoutPadding(given.input!, sizes.x, plan, this.#network.inputSize))
    const x = own(conversion.toCudnn(input, sizes.x))
    const hx = own(given.inputH && conversion.toCudnn(given.inputH, sizes.h))
    const cx = own(given.inputC && conversion.toCudnn(given.inputC, sizes.c))
    const params = own(training ? this.#withDroppedInputs(given.params!) : given.params!.retain())
    const weights = own(given.weights?.retain() ?? conversion.toCudnn(params, this.#layout.size))
    const y = own(conversion.allocate(sizes.y))
    const hy = own(conversion.allocate(sizes.h))
    const cy = own(this.#isLstm ? conversion.allocate(sizes.c) : undefined)
    const reserve = own(training ? new DeviceBuffer(session, plan.reserveBytes) : undefined)
    session.native.rnnForward(
      session.handle,
      plan.rnn,
      training ? FORWARD_MODE.training : FORWARD_MODE.inference,
      lengths.shown?.handle ?? null,
      ...([descriptors.x, x.handle, descriptors.y, y.handle] as const),
      ...([descriptors.h, hx?.handle ?? null, hy.handle] as const),
      ...([descriptors.c, cx?.handle ?? null, cy?.handle ?? null] as const),
      ...([weights.handle, workspace.atLeast(plan.workspaceBytes).handle, reserve?.handle ?? null] as const),
    )
    const output = own(this.#withoutEmptySequences(own(conversion.fromCudnn(y, sizes.y)), sizes.y, plan))
    const outputH = own(conversion.fromCudnn(hy, sizes.h))
    const outputC = own(cy && conversion.fromCudnn(cy, sizes.c))
    if (lengths.hasEmptyRows) {
      this.#passThrough(outputH, given.inputH, plan, sizes.h, hiddenColumns(this.#network))
      if (outputC) this.#passThrough(outputC, given.inputC, plan, sizes.c, this.#network.numUnits)
    }
    return { plan, output, outputH, outputC, kept: { x, hx, cx, y, weights, reserve } }
  }

  /** Appends the backward of a training forward to the batch under construction. */
  appendBackward(
    plan: RnnPlan,
    { x, hx, cx, y, weights, reserve }: TapeContents['buffers'],
    given: Given<BackwardOperand>,
    made: PassBuffers,
  ): BackwardBuffers {
    const { session, kernels, workspace } = this.#executor
    const { native, handle } = session
    const { lengths, descriptors } = plan
    const conversion = this.#conversion
    const sizes = this.elements(plan.sizes)
    const own = made.own.bind(made)
    const stateGradient = (gradient: DeviceBuffer | undefined, elements: number, columns: number) => {
      if (gradient === undefined) return undefined
      const known = own(this.#withoutEmptyRows(gradient, plan, elements, columns))
      return own(conversion.toCudnn(known, elements))
    }
    const output = given.output
      ? this.#withoutPadding(given.output, sizes.y, plan, outputSize(this.#network))
      : this.#zeros(sizes.y)
    const dy = own(conversion.toCudnn(own(output), sizes.y))
    const dhy = stateGradient(given.outputH, sizes.h, hiddenColumns(this.#network))
    const dcy = stateGradient(given.outputC, sizes.c, this.#network.numUnits)
    const dx = own(conversion.allocate(sizes.x))
    const dhx = own(conversion.allocate(sizes.h))
    const dcx = own(this.#isLstm ? conversion.allocate(sizes.c) : undefined)
    const dw = own(conversion.allocate(this.#layout.size))
    const work = workspace.atLeast(plan.workspaceBytes)
    native.rnnBackwardData(
      handle,
      plan.rnn,
      lengths.shown?.handle ?? null,
      ...([descriptors.y, y.handle, dy.handle, descriptors.x, dx.handle] as const),
      ...([descriptors.h, hx?.handle ?? null, dhy?.handle ?? null, dhx.handle] as const),
      ...([descriptors.c, cx?.handle ?? null, dcy?.handle ?? null, dcx?.handle ?? null] as const),
      ...([weights.handle, work.handle, reserve.handle] as const),
    )
    native.clear(handle, dw.handle, 0, dw.bytes)
    native.rnnBackwardWeights(
      handle,
      plan.rnn,
      lengths.shown?.handle ?? null,
      ...([descriptors.x, x.handle, descriptors.h, hx?.handle ?? null, descriptors.y, y.handle] as const),
      ...([dw.handle, work.handle, reserve.handle] as const),
    )
    const input = own(conversion.fromCudnn(dx, sizes.x))
    const inputH = own(conversion.fromCudnn(dhx, sizes.h))
    const inputC = own(dcx && conversion.fromCudnn(dcx, sizes.c))
    const params = own(conversion.fromCudnn(dw, this.#layout.size))
    if (lengths.real !== undefined) {
      // What cuDNN leaves in dx past a row's end is not documented.
      const { batch } = plan.sizes
      kernels.each('mask_sequence', sizes.x, input, input, lengths.real, sizes.x, batch, this.#network.inputSize)
    }
    if (lengths.hasEmptyRows) {
      this.#passThrough(inputH, given.outputH, plan, sizes.h, hiddenColumns(this.#network))
      if (inputC) this.#passThrough(inputC, given.outputC, plan, sizes.c, this.#network.numUnits)
    }
    for (const region of this.#droppedInputs()) this.#clearRegion(params, region)
    return { input, inputH, inputC, params }
  }

  /** Tensors of a forward's results, which take shares of their own in the buffers. */
  outputs(sizes: RnnPassSizes, { output, outputH, outputC }: ForwardBuffers) {
    const shapes = passShapes(this.#network, sizes)
    return {
      output: this.#tensor(output, shapes.output),
      outputH: this.#tensor(outputH, shapes.h),
      outputC: outputC && this.#tensor(outputC, shapes.c!),
    }
  }

  gradients(sizes: RnnPassSizes, { input, inputH, inputC, params }: BackwardBuffers, layout: string) {
    const shapes = passShapes(this.#network, sizes)
    return {
      input: this.#tensor(input, shapes.input),
      inputH: this.#tensor(inputH, shapes.h),
      inputC: inputC && this.#tensor(inputC, shapes.c!),
      params: this.#tensor(params, [this.#layout.size], layout),
    }
  }

  /** What the backward of a training forward needs, with shares of its own. */
  tapeContents({ plan, kept, graphs }: ForwardBuffers): TapeContents {
    for (const buffer of Object.values(kept)) buffer?.retain()
    return { graphs, plan: plan.retain(), buffers: { ...kept, reserve: kept.reserve! } }
  }

  #tensor(buffer: DeviceBuffer, shape: readonly number[], layout?: string): CudnnTensor {
    return this.#executor.memory.tensor(buffer.retain(), shape, { layout })
  }

  /** Elements of the sequences and states of a pass. */
  elements({ time, batch }: RnnPassSizes) {
    const steps = time * batch
    return {
      x: steps * this.#network.inputSize,
      y: steps * outputSize(this.#network),
      ...stateElements(this.#network, batch),
    }
  }

  /** `sequence` with zeros past each row's end: not even NaN may reach the products there. */
  #withoutPadding(sequence: DeviceBuffer, elements: number, plan: RnnPlan, columns: number): DeviceBuffer {
    const { real } = plan.lengths
    if (real === undefined) return sequence.retain()
    const masked = this.#executor.memory.allocate(elements)
    this.#executor.kernels.each('mask_sequence', elements, masked, sequence, real, elements, plan.sizes.batch, columns)
    return masked
  }

  /** A copy of the output with zeros in the empty rows: the backward reads what cuDNN wrote. */
  #withoutEmptySequences(output: DeviceBuffer, elements: number, plan: RnnPlan): DeviceBuffer {
    if (!plan.lengths.hasEmptyRows) return output.retain()
    return this.#withoutPadding(output, elements, plan, outputSize(this.#network))
  }

  #withoutEmptyRows(states: DeviceBuffer, plan: RnnPlan, elements: number, columns: number): DeviceBuffer {
    if (!plan.lengths.hasEmptyRows) return states.retain()
    const known = this.#executor.memory.allocate(elements)
    const { kernels } = this.#executor
    const { real } = plan.lengths
    kernels.each('replace_empty_rows', elements, known, states, null, real!, elements, plan.sizes.batch, columns)
    return known
  }

  /** Puts `source` (zeros if undefined) into the empty rows of `states`. */
  #passThrough(
    states: DeviceBuffer,
    source: DeviceBuffer | undefined,
    plan: RnnPlan,
    elements: number,
    columns: number,
  ): void {
    const { batch } = plan.sizes
    const real = plan.lengths.real!
    const { kernels } = this.#executor
    kernels.each('replace_empty_rows', elements, states, states, source ?? null, real, elements, batch, columns)
  }

  #zeros(elements: number): DeviceBuffer {
    const { memory, session } = this.#executor
    const buffer = memory.allocate(elements)
    session.native.clear(session.handle, buffer.handle, 0, buffer.bytes)
    return buffer
  }

  /**
   * The matrices whose input a dropout of 1 drops: cuDNN would divide by 1 - 1, so the network runs with these matrices
   * zero instead, which is the same, and their gradient is zero.
   */
  #droppedInputs(): readonly PlacedRegion[] {
    if (!hasDropout(this.#network) || this.#network.dropout < 1) return []
    return this.#layout.weights.filter(({ layer, side }) => layer > 0 && side === 'input')
  }

  #withDroppedInputs(params: DeviceBuffer): DeviceBuffer {
    const regions = this.#droppedInputs()
    if (regions.length === 0) return params.retain()
    const { memory, session } = this.#executor
    const copy = memory.allocate(this.#layout.size)
    session.native.copy(session.handle, copy.handle, 0, params.handle, 0, params.bytes)
    for (const region of regions) this.#clearRegion(copy, region)
    return copy
  }

  #clearRegion(params: DeviceBuffer, { offset, size }: PlacedRegion): void {
    const { native, handle } = this.#executor.session
    const bytes = params.bytes / this.#layout.size
    native.clear(handle, params.handle, offset * bytes, size * bytes)
  }

  async #issueTimed(lane: Lane, action: string, append: Append, trial: GraphTrial | undefined): Promise<void> {
    if (trial?.awaits('calls') !== true) return this.issue(lane, action, append)
    try {
      trial.note('calls', await timed(lane, action, append))
    } catch (error) {
      this.#executor.workspace.release()
      throw error
    }
  }

  /** Runs a batch that uses the workspace. */
  async issue(lane: Lane, action: string, append: Append): Promise<void> {
    // A workspace that a failed batch was to allocate does not exist.
    await lane.issue(action, append, () => this.#executor.workspace.release())
  }
}
