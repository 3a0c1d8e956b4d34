import { numGates, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/ops/executor'
import type { CommandList } from '../device/command_list.js'
import type { CommandQueue } from '../device/command_queue.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { kernelArchitecture } from '../device/device_kernels.js'
import type { DeviceSession } from '../device/device_session.js'
import type { KernelCache } from '../device/kernel_cache.js'
import type { Arithmetic } from '../device/precision.js'
import { CUBLAS_COMPUTE, CUBLAS_OP, CUBLAS_TYPES } from '../sys/cudnn_enums.js'
import type { KernelModule } from '../sys/native_addon.js'
import { PERSISTENT_CELLS, PERSISTENT_KINDS, type PersistentShape } from './persistent_shape.js'
import type { BackwardOperands, ForwardOperands, InputGradients, LayerKernels, OutputGradients } from './rnn_call.js'

/** Nanoseconds that a block waits for another before it gives up: a step takes a thousandth of that. */
const PATIENCE = 1e9
const FLOAT32_BYTES = 4

/** A matrix in a buffer, or its transpose. */
interface Matrix {
  readonly buffer: DeviceBuffer
  /** Bytes. */
  readonly offset?: number
  /** Elements from one row to the next, as it is stored. */
  readonly stride: number
  readonly transposed?: boolean
}

/** The network, the pass, and where it runs. */
export interface PersistentOptions {
  readonly network: RnnDescriptor
  readonly arithmetic: Arithmetic
  readonly sizes: RnnPassSizes
  readonly shape: PersistentShape
}

/**
 * Passes of one layer by the kernels of native/cudnn/kernels/persistent.cu, which take the place of cuDNN's calls: the same
 * operands, results and layout of parameters. The products that do not depend on the step before are cuBLAS's.
 */
export class PersistentPass implements LayerKernels {
  readonly module: KernelModule
  /** Bytes of the gates and cells that a training forward leaves for its backward. */
  readonly reserveBytes: number
  readonly #options: PersistentOptions
  readonly #gates: number
  readonly #steps: number
  /** Type of sequences, states and weights for cuBLAS. */
  readonly #type: number
  readonly #compute: number

  private constructor(options: PersistentOptions, module: KernelModule) {
    const { network, arithmetic, sizes } = options
    this.module = module
    this.#options = options
    this.#gates = numGates(network)
    this.#steps = sizes.time * sizes.batch
    this.#type = CUBLAS_TYPES[arithmetic.half ?? 'float32']
    this.#compute = arithmetic.half === undefined ? arithmetic.cublasCompute : CUBLAS_COMPUTE.float32
    this.reserveBytes = (this.#gates + 1) * this.#steps * network.numUnits * FLOAT32_BYTES
  }

  /** The text and the options of the kernels: everything that their machine code depends on. */
  static source({ native, libraries, info }: DeviceSession, { network, arithmetic, shape }: PersistentOptions) {
    const macros = {
      CELL: PERSISTENT_CELLS[network.cellMode],
      KIND: PERSISTENT_KINDS[arithmetic.precision as keyof typeof PERSISTENT_KINDS],
      HIDDEN: network.numUnits,
      UNITS: shape.units,
      WARPS: shape.warps,
      ROWS: shape.rows,
    }
    const architecture = kernelArchitecture(info.computeCapability, native.supportedArchitectures(libraries))
    const options = Object.entries(macros).map(([name, value]) => `-D${name}=${value}`)
    return { source: native.persistentSource(), options: [`--gpu-architecture=${architecture}`, ...options] }
  }

  /** Compiles the kernels, or finds them, and loads them. Undefined if their blocks cannot all run at the same time. */
  static async load(
    session: DeviceSession,
    queue: CommandQueue,
    cache: KernelCache,
    options: PersistentOptions,
  ): Promise<PersistentPass | undefined> {
    const { shape } = options
    const text = PersistentPass.source(session, options)
    const key = [text.source, ...text.options, String(session.info.nvrtcVersion)]
    const { native, libraries } = session
    const image = await cache.image(key, () => native.compileKernels(libraries, text.source, text.options))
    const module = session.newId<KernelModule>()
    const list = session.list('load a persistent kernel')
    const { forwardBytes, backwardBytes } = shape
    list.add('loadPersistent', { module, image, threads: 32 * shape.warps, forwardBytes, backwardBytes })
    const blocks = await queue.run(list)
    const resident = Math.min(...blocks) * session.info.multiProcessors
    if (shape.blocks * shape.groups <= resident) return new PersistentPass(options, module)
    queue.releaseNow([module])
    return undefined
  }

  forward(
    list: CommandList,
    { x, hx, cx, y, weights, reserve: saved }: ForwardOperands,
    { hy, cy }: { readonly hy: DeviceBuffer; readonly cy: DeviceBuffer | undefined },
  ): void {
    const { inputSize } = this.#options.network
    const columns = this.#columns
    const products = list.allocate(this.#steps * columns * FLOAT32_BYTES)
    this.#multiply(
      list,
      { buffer: products, stride: columns },
      [this.#steps, inputSize, columns],
      { buffer: x, stride: inputSize },
      { buffer: weights, stride: inputSize, transposed: true },
      { type: CUBLAS_TYPES.float32 },
    )
    list.add('markEmpty', { to: y })
    const { bias, recurrentBias, recurrent } = this.#places
    const operands = { y, hy, cy, saved, products, weights, hx, cx, bias, recurrentBias, recurrent }
    this.#launch(list, 'persistent_forward', { ...operands, ...this.#sizes })
    products.release()
  }

  backward(
    list: CommandList,
    { x, hx, cx, y, weights, reserve: saved }: BackwardOperands,
    { dy, dhy, dcy }: OutputGradients,
    { dx, dhx, dcx, dw }: InputGradients,
  ): void {
    const { network, arithmetic, sizes, shape } = this.#options
    const { inputSize, numUnits, cellMode } = network
    const isGru = cellMode === 'gru'
    const { time, batch } = sizes
    const columns = this.#columns
    const steps = this.#steps
    const { bias, recurrentBias, recurrent } = this.#places
    const dgates = list.allocate(steps * columns * arithmetic.bytes)
    const dnew = isGru ? list.allocate(steps * numUnits * arithmetic.bytes) : undefined
    const biases = this.#gates + Number(isGru)
    const dbias = list.allocate(shape.groups * biases * numUnits * FLOAT32_BYTES)
    list.add('markEmpty', { to: dgates })
    const operands = { dgates, dnew, dbias, dhx, dcx, dy, dhy, dcy, weights, saved, y, hx, cx, recurrent }
    this.#launch(list, 'persistent_backward', { ...operands, ...this.#sizes })
    // The gradients of x's products: a GRU's n has its own, as the reset gate is between it and the recurrent product.
    const parts = [
      { buffer: dgates, stride: columns, first: 0, count: dnew === undefined ? columns : columns - numUnits },
      ...(dnew === undefined ? [] : [{ buffer: dnew, stride: numUnits, first: columns - numUnits, count: numUnits }]),
    ]
    for (const { buffer, stride, first, count } of parts) {
      const offset = first * inputSize * arithmetic.bytes
      const part = { buffer, stride }
      const ofInput = { buffer: weights, offset, stride: inputSize }
      const sum = { isAdded: first > 0 }
      this.#multiply(list, { buffer: dx, stride: inputSize }, [steps, count, inputSize], part, ofInput, sum)
      const target = { buffer: dw, offset, stride: inputSize }
      const transposed = { ...part, transposed: true }
      this.#multiply(list, target, [count, steps, inputSize], transposed, { buffer: x, stride: inputSize })
    }
    // h before each step: y of the step before, and hx.
    const target = { buffer: dw, offset: recurrent * arithmetic.bytes, stride: numUnits }
    const gradient = { buffer: dgates, stride: columns, transposed: true }
    const rest = (time - 1) * batch
    if (rest > 0) {
      const later = { ...gradient, offset: batch * columns * arithmetic.bytes }
      this.#multiply(list, target, [columns, rest, numUnits], later, { buffer: y, stride: numUnits })
    }
    if (hx) {
      const initial = { buffer: hx, stride: numUnits }
      this.#multiply(list, target, [columns, batch, numUnits], gradient, initial, { isAdded: rest > 0 })
    } else if (rest === 0) {
      list.add('clear', { to: dw, offset: target.offset, bytes: columns * numUnits * arithmetic.bytes })
    }
    const threads = 32 * shape.warps
    const blocks = Math.ceil((biases * numUnits) / threads)
    list.launchPersistent(
      'persistent_bias',
      { module: this.module, blocks, groups: 1, threads, sharedBytes: 0 },
      { dw, dbias, groups: shape.groups, bias, recurrentBias },
    )
    for (const buffer of [dgates, dnew, dbias]) buffer?.release()
  }

  get #columns(): number {
    return this.#gates * this.#options.network.numUnits
  }

  /** Elements before the recurrent matrices and the biases: cuDNN's layout of one layer. */
  get #places() {
    const { inputSize, numUnits } = this.#options.network
    const recurrent = this.#columns * inputSize
    const bias = recurrent + this.#columns * numUnits
    return { recurrent, bias, recurrentBias: bias + this.#columns }
  }

  get #sizes() {
    const { time, batch } = this.#options.sizes
    return { time, batch, patience: PATIENCE }
  }

  #launch<Name extends 'persistent_forward' | 'persistent_backward'>(
    list: CommandList,
    name: Name,
    fields: Parameters<typeof list.launchPersistent<Name>>[2],
  ): void {
    const { blocks, groups, warps, forwardBytes, backwardBytes } = this.#options.shape
    const sharedBytes = name === 'persistent_forward' ? forwardBytes : backwardBytes
    list.launchPersistent(name, { module: this.module, blocks, groups, threads: 32 * warps, sharedBytes }, fields)
  }

  /** Adds c [rows,columns] = a · b, or c + a · b, all row-major: cuBLAS, which is column-major, computes cᵀ = bᵀ · aᵀ. */
  #multiply(
    list: CommandList,
    c: Matrix,
    [rows, inner, columns]: readonly [number, number, number],
    a: Matrix,
    b: Matrix,
    { isAdded = false, type = this.#type }: { readonly isAdded?: boolean; readonly type?: number } = {},
  ): void {
    const operation = ({ transposed }: Matrix) => (transposed ? CUBLAS_OP.transpose : CUBLAS_OP.none)
    list.add('matrixProduct', {
      opA: operation(b),
      opB: operation(a),
      m: columns,
      n: rows,
      k: inner,
      a: b.buffer,
      aOffset: b.offset ?? 0,
      lda: b.stride,
      b: a.buffer,
      bOffset: a.offset ?? 0,
      ldb: a.stride,
      beta: Number(isAdded),
      c: c.buffer,
      cOffset: c.offset ?? 0,
      ldc: c.stride,
      typeA: this.#type,
      typeC: type,
      computeType: this.#compute,
    })
  }
}
