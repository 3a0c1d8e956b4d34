import { required } from '@cudnn-rnn/canonical/rules'
import type { TensorLike } from '@cudnn-rnn/ops'
import {
  hiddenColumns,
  outputSize,
  type ParamLayout,
  type PlacedRegion,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/ops/executor'
import type { CommandList } from '../device/command_list.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import { CudnnTensor } from '../device/cudnn_tensor.js'
import type { BufferOwner, DeviceBuffer } from '../device/device_buffer.js'
import { launchEach } from '../device/device_kernels.js'
import { Conversion } from './conversion.js'
import type { TapeContents } from './cudnn_tape.js'
import { hasDropout, stateElements } from './network_descriptors.js'
import { callBackward, callForward } from './rnn_call.js'
import type { RnnPlan } from './rnn_plan.js'

type Operands = Readonly<Record<string, TensorLike | null | undefined>>

/** Arguments of a pass on the device, in the executor's element type. */
type Given<Tensors extends Operands> = {
  readonly [Name in keyof Tensors]: Tensors[Name] extends TensorLike ? DeviceBuffer : DeviceBuffer | undefined
}

export interface GivenForward {
  readonly input: DeviceBuffer
  readonly inputH: DeviceBuffer | undefined
  readonly inputC: DeviceBuffer | undefined
  readonly params: DeviceBuffer
  /** `params` as cuDNN reads them, if the pass need not convert them. */
  readonly weights: DeviceBuffer | undefined
}

interface GivenBackward {
  readonly output?: DeviceBuffer | undefined
  readonly outputH?: DeviceBuffer | undefined
  readonly outputC?: DeviceBuffer | undefined
}

/** Buffers of a forward: results in the executor's element type, and cuDNN's inputs and outputs. */
export interface ForwardBuffers {
  readonly plan: RnnPlan
  readonly output: DeviceBuffer
  readonly outputH: DeviceBuffer
  readonly outputC: DeviceBuffer | undefined
  readonly kept: Omit<TapeContents['buffers'], 'reserve'> & { readonly reserve: DeviceBuffer | undefined }
}

/** The elements of a sequence or of states, and of each of their rows. */
interface Extent {
  readonly count: number
  readonly columns: number
}

export interface BackwardBuffers {
  readonly input: DeviceBuffer
  readonly inputH: DeviceBuffer
  readonly inputC: DeviceBuffer | undefined
  readonly params: DeviceBuffer
}

/** The passes of one network: cuDNN's calls, and the corrections before and after them (element type, padding). */
export class RnnPasses {
  readonly #executor: CudnnExecutor
  readonly #network: RnnDescriptor
  readonly #layout: ParamLayout
  readonly #paramsShape: readonly number[]
  readonly #conversion: Conversion
  readonly #isLstm: boolean

  constructor(executor: CudnnExecutor, network: RnnDescriptor, layout: ParamLayout) {
    this.#executor = executor
    this.#network = network
    this.#layout = layout
    this.#paramsShape = Object.freeze([layout.size])
    this.#conversion = new Conversion(executor.memory, executor.arithmetic)
    this.#isLstm = network.cellMode === 'lstm'
  }

  /** The arguments' buffers; host arrays are read now. */
  operands<Tensors extends Operands>(list: CommandList, owned: BufferOwner, tensors: Tensors): Given<Tensors> {
    const given: Partial<Record<keyof Tensors, DeviceBuffer>> = {}
    for (const name in tensors) {
      const tensor = tensors[name]
      if (tensor) given[name] = owned.own(this.#executor.memory.operand(list, tensor))
    }
    return given as Given<Tensors>
  }

  /** The parameters as cuDNN reads them, if the conversion serves other passes too; the caller releases them. */
  sharedWeights(params: TensorLike, training: boolean): DeviceBuffer | undefined {
    if (!(params instanceof CudnnTensor) || (training && this.#droppedInputs().length > 0)) return undefined
    return this.#conversion.shared(params, this.#layout.size)
  }

  forward(list: CommandList, plan: RnnPlan, given: GivenForward, made: BufferOwner): ForwardBuffers {
    const { lengths, training } = plan
    const conversion = this.#conversion
    const sizes = this.#extents(plan.sizes)
    const own = made.own.bind(made)
    // The states of empty rows are replaced by zeros: cuDNN computes a step with them (Note [Empty rows]), and a NaN there
    // could reach the gradients of the weights.
    const state = (initial: DeviceBuffer | undefined, extent: Extent) => {
      if (initial === undefined) return undefined
      return conversion.toCudnn(list, own(this.#withoutEmptyRows(list, initial, plan, extent)), extent.count)
    }
    const input = own(this.#withoutPadding(list, given.input, sizes.x, plan))
    const x = own(conversion.toCudnn(list, input, sizes.x.count))
    const hx = own(state(given.inputH, sizes.h))
    const cx = own(state(given.inputC, sizes.c))
    const params = own(training ? this.#withDroppedInputs(list, given.params) : given.params.retain())
    const weights = own(given.weights?.retain() ?? conversion.toCudnn(list, params, this.#layout.size))
    // Results are allocated here and not reused from a pool of this package: the device's memory pool orders reuse by
    // stream.
    const y = own(conversion.allocate(list, sizes.y.count))
    const hy = own(conversion.allocate(list, sizes.h.count))
    const cy = own(this.#isLstm ? conversion.allocate(list, sizes.c.count) : undefined)
    const reserve = own(training ? list.allocate(plan.reserveBytes) : undefined)
    const operands = { x, hx, cx, y, weights, reserve }
    // From here on the buffers hold cuDNN's results, to be corrected and converted.
    callForward(list, plan, operands, { hy, cy })
    const output = own(
      this.#withoutEmptySequences(list, own(conversion.fromCudnn(list, y, sizes.y.count)), sizes.y, plan),
    )
    const outputH = own(conversion.fromCudnn(list, hy, sizes.h.count))
    const finalC = own(cy && conversion.fromCudnn(list, cy, sizes.c.count))
    // Rows of length 0 pass their initial state through.
    if (lengths.withEmptyRows !== undefined) {
      this.#replaceEmptyRows(list, outputH, outputH, given.inputH, plan, sizes.h)
      if (finalC) this.#replaceEmptyRows(list, finalC, finalC, given.inputC, plan, sizes.c)
    }
    if (this.#network.cellClip === undefined) {
      return { plan, output, outputH, outputC: finalC, kept: { initialC: undefined, finalC: undefined, ...operands } }
    }
    const outputC = own(finalC && this.#clipped(list, finalC, sizes.c.count, this.#network.cellClip))
    return { plan, output, outputH, outputC, kept: { initialC: given.inputC, finalC, ...operands } }
  }

  /** Adds the backward of a training forward to `list`. */
  backward(
    list: CommandList,
    { plan, buffers }: TapeContents,
    given: GivenBackward,
    made: BufferOwner,
  ): BackwardBuffers {
    const { lengths } = plan
    const conversion = this.#conversion
    const sizes = this.#extents(plan.sizes)
    const own = made.own.bind(made)
    // An absent gradient stays absent: cuDNN takes a null dhy or dcy as zeros.
    const stateGradient = (gradient: DeviceBuffer | undefined, extent: Extent) => {
      if (gradient === undefined) return undefined
      return own(conversion.toCudnn(list, own(this.#withoutEmptyRows(list, gradient, plan, extent)), extent.count))
    }
    const output = given.output
      ? this.#withoutPadding(list, given.output, sizes.y, plan)
      : this.#zeros(list, sizes.y.count)
    // Gradients past a row's end are set to 0: the loss does not depend on padding.
    const dy = own(conversion.toCudnn(list, own(output), sizes.y.count))
    const dhy = stateGradient(given.outputH, sizes.h)
    const outputC = own(this.#withoutClipped(list, given.outputC, buffers.finalC, sizes.c.count))
    const dcy = stateGradient(outputC, sizes.c)
    const dx = own(conversion.allocate(list, sizes.x.count))
    const dhx = own(conversion.allocate(list, sizes.h.count))
    const dcx = own(this.#isLstm ? conversion.allocate(list, sizes.c.count) : undefined)
    // cudnnRNNBackwardWeights_v8 adds to dw; callBackward clears it first.
    const dw = own(conversion.allocate(list, this.#layout.size))
    callBackward(list, plan, buffers, { dy, dhy, dcy }, { dx, dhx, dcx, dw })
    const input = own(conversion.fromCudnn(list, dx, sizes.x.count))
    const inputH = own(conversion.fromCudnn(list, dhx, sizes.h.count))
    const inputC = own(dcx && conversion.fromCudnn(list, dcx, sizes.c.count))
    const params = own(conversion.fromCudnn(list, dw, this.#layout.size))
    // The contents of dx past a row's end are not documented.
    if (lengths.real !== undefined) this.#mask(list, input, input, sizes.x, lengths.real, plan.sizes.batch)
    if (lengths.withEmptyRows !== undefined) {
      this.#replaceEmptyRows(list, inputH, inputH, given.outputH, plan, sizes.h)
      if (inputC) this.#replaceEmptyRows(list, inputC, inputC, outputC, plan, sizes.c)
    }
    if (inputC && buffers.initialC) this.#maskClipped(list, inputC, inputC, buffers.initialC, sizes.c.count)
    // Everything that these matrices multiply was dropped.
    for (const region of this.#droppedInputs()) this.#clearRegion(list, params, region)
    // What cuDNN computes in the steps of empty rows is 0, or NaN if a parameter is not finite.
    if (lengths.areAllZero) list.add('clear', { to: params, offset: 0, bytes: params.bytes })
    return { input, inputH, inputC, params }
  }

  /** Tensors of a forward's results, which take their own shares in the buffers. */
  outputs({ plan: { shapes }, output, outputH, outputC }: ForwardBuffers) {
    return {
      output: this.#tensor(output, shapes.output),
      outputH: this.#tensor(outputH, shapes.h),
      outputC: outputC && this.#cellState(outputC, shapes),
    }
  }

  /** Tensors of a backward's results, which take their own shares in the buffers. */
  gradients({ shapes }: RnnPlan, { input, inputH, inputC, params }: BackwardBuffers, layout: string) {
    return {
      input: this.#tensor(input, shapes.input),
      inputH: this.#tensor(inputH, shapes.h),
      inputC: inputC && this.#cellState(inputC, shapes),
      params: this.#tensor(params, this.#paramsShape, layout),
    }
  }

  /** The buffers that the backward of a training forward reads, each retained for the tape. */
  tapeContents({ plan, kept }: ForwardBuffers): TapeContents {
    // The pass releases its own share when its list is queued; the tape's share keeps the memory until the backward.
    for (const buffer of Object.values(kept)) buffer?.retain()
    return {
      plan: plan.retain(),
      buffers: Object.assign(kept, { reserve: required(kept.reserve, 'a training forward has a reserve space') }),
    }
  }

  #cellState(buffer: DeviceBuffer, { c }: RnnPlan['shapes']): CudnnTensor {
    return this.#tensor(buffer, required(c, 'the plan of a network with a cell state has its shape'))
  }

  /** A tensor with its own reference: `made` releases the pass's. */
  #tensor(buffer: DeviceBuffer, shape: readonly number[], layout?: string): CudnnTensor {
    return this.#executor.memory.tensor(buffer.retain(), shape, { layout })
  }

  /** Extents of the sequences and states of a pass. */
  #extents({ time, batch }: RnnPassSizes) {
    const network = this.#network
    const sequence = (columns: number): Extent => ({ count: time * batch * columns, columns })
    const { h, c } = stateElements(network, batch)
    return {
      x: sequence(network.inputSize),
      y: sequence(outputSize(network)),
      h: { count: h, columns: hiddenColumns(network) },
      c: { count: c, columns: network.numUnits },
    }
  }

  /** `sequence` with zeros past each row's end: not even NaN may reach the products there. */
  #withoutPadding(list: CommandList, sequence: DeviceBuffer, extent: Extent, plan: RnnPlan): DeviceBuffer {
    const { real: lengths } = plan.lengths
    if (lengths === undefined) return sequence.retain()
    const masked = this.#executor.memory.allocate(list, extent.count)
    this.#mask(list, masked, sequence, extent, lengths, plan.sizes.batch)
    return masked
  }

  /** y [T,B,columns] = x, with zeros at the steps past each row's length. x and y may be one buffer. */
  #mask(
    list: CommandList,
    y: DeviceBuffer,
    x: DeviceBuffer,
    extent: Extent,
    lengths: DeviceBuffer,
    batch: number,
  ): void {
    launchEach(this.#executor.session, list, 'mask_sequence', extent.count, { y, x, lengths, ...extent, batch })
  }

  /**
   * A copy of the output with zeros in the empty rows, and past each row's end if persistent kernels computed it: the backward
   * reads the original.
   */
  #withoutEmptySequences(list: CommandList, output: DeviceBuffer, extent: Extent, plan: RnnPlan): DeviceBuffer {
    if (plan.lengths.withEmptyRows === undefined && plan.persistent === undefined) return output.retain()
    return this.#withoutPadding(list, output, extent, plan)
  }

  /** `states` with zeros in the empty rows. */
  #withoutEmptyRows(list: CommandList, states: DeviceBuffer, plan: RnnPlan, extent: Extent): DeviceBuffer {
    if (plan.lengths.withEmptyRows === undefined) return states.retain()
    const known = this.#executor.memory.allocate(list, extent.count)
    this.#replaceEmptyRows(list, known, states, undefined, plan, extent)
    return known
  }

  /** y [L·D,B,columns] = x, with the empty rows from `source`, or zeros without one. x and y may be one buffer. */
  #replaceEmptyRows(
    list: CommandList,
    y: DeviceBuffer,
    x: DeviceBuffer,
    source: DeviceBuffer | undefined,
    plan: RnnPlan,
    extent: Extent,
  ): void {
    const lengths = required(plan.lengths.withEmptyRows, 'the plan of a batch with empty rows has their lengths')
    const fields = { y, x, source, lengths, ...extent, batch: plan.sizes.batch }
    launchEach(this.#executor.session, list, 'replace_empty_rows', extent.count, fields)
  }

  /**
   * `cells`, clipped.
   *
   * Note [Clipped cells]. cuDNN clips c wherever it uses it, the initial one included, with the true derivative; but it
   * returns the c of the last step as it was before its clip. The executor clips it, and the gradient that arrives for it
   * is 0 if the clip holds. A call that continues from it computes the same either way.
   */
  #clipped(list: CommandList, cells: DeviceBuffer, count: number, limit: number): DeviceBuffer {
    const x = this.#executor.memory.allocate(list, count)
    list.copy(x, cells)
    launchEach(this.#executor.session, list, 'clip_by_value', count, { x, count, limit })
    return x
  }

  /** The gradient of the final c, with zeros if the clip holds `finalC`: see Note [Clipped cells]. */
  #withoutClipped(
    list: CommandList,
    gradient: DeviceBuffer | undefined,
    finalC: DeviceBuffer | undefined,
    elements: number,
  ): DeviceBuffer | undefined {
    if (gradient === undefined || finalC === undefined) return gradient?.retain()
    const masked = this.#executor.memory.allocate(list, elements)
    this.#maskClipped(list, masked, gradient, finalC, elements)
    return masked
  }

  /** y = x, with zeros if the clip holds `state`. x and y may be one buffer. */
  #maskClipped(list: CommandList, y: DeviceBuffer, x: DeviceBuffer, state: DeviceBuffer, count: number): void {
    const limit = required(this.#network.cellClip, 'states are kept for the backward of a network with a clip only')
    launchEach(this.#executor.session, list, 'mask_clipped', count, { y, x, state, count, limit })
  }

  /** A cleared buffer in the place of a gradient that the caller left out: cuDNN takes no null for dy. */
  #zeros(list: CommandList, elements: number): DeviceBuffer {
    const to = this.#executor.memory.allocate(list, elements)
    list.add('clear', { to, offset: 0, bytes: to.bytes })
    return to
  }

  /**
   * The matrices whose input a dropout of 1 drops: cuDNN would divide by 1 - 1, so the network runs with these matrices
   * zero instead, which is the same, and their gradient is zero.
   */
  #droppedInputs(): readonly PlacedRegion[] {
    if (!hasDropout(this.#network) || this.#network.dropout < 1) return []
    return this.#layout.weights.filter(({ layer, side }) => layer > 0 && side === 'input')
  }

  /** The parameters with zeros in the dropped matrices; a copy, as the caller's must not change. */
  #withDroppedInputs(list: CommandList, params: DeviceBuffer): DeviceBuffer {
    const regions = this.#droppedInputs()
    if (regions.length === 0) return params.retain()
    const copy = this.#executor.memory.allocate(list, this.#layout.size)
    list.copy(copy, params)
    for (const region of regions) this.#clearRegion(list, copy, region)
    return copy
  }

  /** Sets the elements of one region of a flat parameter buffer to 0. */
  #clearRegion(list: CommandList, to: DeviceBuffer, { offset, size }: PlacedRegion): void {
    const bytes = to.bytes / this.#layout.size
    list.add('clear', { to, offset: offset * bytes, bytes: size * bytes })
  }
}
