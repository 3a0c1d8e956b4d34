import { hiddenColumns, numPseudoLayers, outputSize, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/ops/executor'
import type { CommandList } from '../device/command_list.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import type { DeviceSession } from '../device/device_session.js'
import type { Arithmetic } from '../device/precision.js'
import { FORWARD_MODE, SEQ_MAJOR_UNPACKED, WGRAD_ADD } from '../sys/cudnn_enums.js'
import type { DataDescriptor, RnnDescriptorId, TensorDescriptor } from '../sys/native_addon.js'

/** The descriptors of a pass's sequences and states. */
export interface PassDescriptors {
  readonly x: DataDescriptor
  readonly y: DataDescriptor
  readonly h: TensorDescriptor
  readonly c: TensorDescriptor | null
}

/** One padding element in every element type: the number 0. */
const ZERO = new Uint8Array(8)

/**
 * Adds the descriptors of x, y, h and c to `list`. Sequences are SEQ_MAJOR_UNPACKED: [T,B,columns] with the same stride
 * for every row, of any length. h is [L·D,B,C], c [L·D,B,H].
 */
export function setPassDescriptors(
  session: DeviceSession,
  list: CommandList,
  { dataType: dtype }: Arithmetic,
  network: RnnDescriptor,
  { time, batch, sequenceLengths }: RnnPassSizes,
): PassDescriptors {
  const seqLengthArray = cudnnLengths(time, batch, sequenceLengths)
  const data = (vectorSize: number) => {
    const descriptor = session.newId<DataDescriptor>()
    list.add('setDataDescriptor', {
      descriptor,
      dtype,
      layout: SEQ_MAJOR_UNPACKED,
      maxSeqLength: time,
      batchSize: batch,
      vectorSize,
      seqLengthArray,
      paddingFill: ZERO,
    })
    return descriptor
  }
  const states = (columns: number) => {
    const descriptor = session.newId<TensorDescriptor>()
    list.add('setTensorDescriptor', { descriptor, dtype, layers: numPseudoLayers(network), batch, columns })
    return descriptor
  }
  return {
    x: data(network.inputSize),
    y: data(outputSize(network)),
    h: states(hiddenColumns(network)),
    c: network.cellMode === 'lstm' ? states(network.numUnits) : null,
  }
}

/** From this release on devSeqLengths should be NULL, as NVIDIA's documentation of cudnnRNNForward specifies. */
const FIRST_WITHOUT_DEVICE_LENGTHS = 8901

/**
 * Sequence lengths on the device.
 *
 * Note [Empty rows]. cuDNN's treatment of rows of length 0 is not documented and failed for others, so it is given
 * length 1 for them, and its results are corrected: their input, output and gradients are set to 0, and their states
 * pass through.
 */
export interface DeviceLengths {
  /** The lengths that cuDNN gets, at least 1; undefined from cuDNN 8.9.1 on, which takes the descriptors'. */
  readonly given: DeviceBuffer | undefined
  /** The real ones; undefined if every row has T steps. */
  readonly real: DeviceBuffer | undefined
  /** `real` if some row has no step; undefined if none is empty. */
  readonly withEmptyRows: DeviceBuffer | undefined
  /** Whether no row has a step. */
  readonly areAllZero: boolean
}

/**
 * Adds the uploads of the lengths that this version of cuDNN and the masking kernels read; the plan owns the buffers.
 */
export function uploadLengths(
  { info }: DeviceSession,
  list: CommandList,
  { time, batch, sequenceLengths }: RnnPassSizes,
): DeviceLengths {
  const upload = (lengths: Int32Array) => {
    const buffer = list.allocate(lengths.byteLength)
    list.upload(buffer, lengths)
    return buffer
  }
  const real = sequenceLengths === null ? undefined : upload(sequenceLengths)
  const isRead = info.cudnnVersion < FIRST_WITHOUT_DEVICE_LENGTHS
  return {
    given: isRead ? upload(cudnnLengths(time, batch, sequenceLengths)) : undefined,
    real,
    withEmptyRows: sequenceLengths?.includes(0) ? real : undefined,
    areAllZero: sequenceLengths?.every((length) => length === 0) ?? false,
  }
}

/** Lengths as cuDNN accepts them, 1…T: see Note [Empty rows]. */
function cudnnLengths(time: number, batch: number, lengths: Int32Array | null): Int32Array {
  return lengths === null ? new Int32Array(batch).fill(time) : lengths.map((length) => Math.max(1, length))
}

/** Bytes of temporary memory, from cudnnGetRNNTempSpaceSizes. */
export interface TempSpace {
  readonly workspaceBytes: number
  /** 0 in inference. */
  readonly reserveBytes: number
}

/** The common arguments of the calls for one shape. */
export interface RnnCall extends TempSpace {
  /** Memory to work in; left out, the call allocates its own. */
  readonly workSpace?: DeviceBuffer
  readonly training: boolean
  readonly rnn: RnnDescriptorId
  readonly descriptors: PassDescriptors
  readonly lengths: DeviceLengths
  /** The kernels that take the place of cuDNN's. */
  readonly persistent?: LayerKernels | undefined
}

/** Operands of a forward that a backward reads again. */
export interface ForwardOperands {
  readonly x: DeviceBuffer
  readonly hx?: DeviceBuffer | undefined
  readonly cx?: DeviceBuffer | undefined
  readonly y: DeviceBuffer
  readonly weights: DeviceBuffer
  readonly reserve?: DeviceBuffer | undefined
  /** Steps of each row, for `LayerKernels`; T if it is missing. */
  readonly lengths?: DeviceBuffer | undefined
}

/** The same of a training forward, which has filled the reserve space. */
export interface BackwardOperands extends ForwardOperands {
  readonly reserve: DeviceBuffer
}

/** Gradients of the loss with respect to y, hy and cy; missing dhy and dcy are zeros. */
export interface OutputGradients {
  readonly dy: DeviceBuffer
  readonly dhy?: DeviceBuffer | undefined
  readonly dcy?: DeviceBuffer | undefined
}

export interface InputGradients {
  readonly dx: DeviceBuffer
  readonly dhx: DeviceBuffer
  readonly dcx: DeviceBuffer | undefined
  readonly dw: DeviceBuffer
}

/** Passes of the same operands and results as cuDNN's, but that y past a row's length is not 0. */
export interface LayerKernels {
  /** Bytes of the reserve space of a training forward. */
  readonly reserveBytes: number
  /** Adds a forward. */
  forward(
    list: CommandList,
    operands: ForwardOperands,
    results: { readonly hy: DeviceBuffer; readonly cy: DeviceBuffer | undefined },
  ): void
  /** Adds a backward; dw is overwritten. */
  backward(list: CommandList, operands: BackwardOperands, given: OutputGradients, results: InputGradients): void
}

/** The fields of cuDNN's calls that depend on the shape and on the forward alone; each call takes some of them. */
function passFields(
  { rnn: descriptor, lengths: { given: devSeqLengths }, descriptors }: RnnCall,
  { x, hx, cx, y, weights: weightSpace, reserve: reserveSpace }: ForwardOperands,
  workSpace: DeviceBuffer,
) {
  const { x: xDesc, y: yDesc, h: hDesc, c: cDesc } = descriptors
  return { descriptor, devSeqLengths, xDesc, x, yDesc, y, hDesc, hx, cDesc, cx, weightSpace, workSpace, reserveSpace }
}

/**
 * Adds cudnnRNNForward. Buffers are in cuDNN's element type: x [T,B,I], hx and hy [L·D,B,C], cx and cy [L·D,B,H], y
 * [T,B,D·C]; missing hx and cx are zeros. https://docs.nvidia.com/deeplearning/cudnn/latest/api/cudnn-adv-library.html
 */
export function callForward(
  list: CommandList,
  call: RnnCall,
  operands: ForwardOperands,
  results: { readonly hy: DeviceBuffer; readonly cy: DeviceBuffer | undefined },
): void {
  if (call.persistent !== undefined) {
    call.persistent.forward(list, { lengths: call.lengths.real, ...operands }, results)
    return
  }
  const workSpace = call.workSpace?.retain() ?? list.allocate(call.workspaceBytes)
  const mode = call.training ? FORWARD_MODE.training : FORWARD_MODE.inference
  const { hy, cy } = results
  list.add('rnnForward', { mode, hy, cy, ...passFields(call, operands, workSpace) })
  workSpace.release()
}

/**
 * Adds cudnnRNNBackwardData_v8 and cudnnRNNBackwardWeights_v8, in the order that cuDNN requires. x, hx, cx, y, the
 * weights and the reserve space must be the forward's; dw is overwritten.
 */
export function callBackward(
  list: CommandList,
  call: RnnCall,
  operands: BackwardOperands,
  given: OutputGradients,
  results: InputGradients,
): void {
  if (call.persistent !== undefined) {
    call.persistent.backward(list, { lengths: call.lengths.real, ...operands }, given, results)
    return
  }
  const workSpace = call.workSpace?.retain() ?? list.allocate(call.workspaceBytes)
  const fields = Object.assign(passFields(call, operands, workSpace), { reserveSpace: operands.reserve })
  const { dy, dhy, dcy } = given
  const { dx, dhx, dcx, dw } = results
  list.add('rnnBackwardData', { dy, dhy, dcy, dx, dhx, dcx, ...fields })
  // cuDNN 9.24 refuses CUDNN_WGRAD_SET.
  list.add('clear', { to: dw, offset: 0, bytes: dw.bytes })
  list.add('rnnBackwardWeights', { addGrad: WGRAD_ADD, dweightSpace: dw, ...fields })
  workSpace.release()
}
