import {
  layerInputSize,
  numDirections,
  numGates,
  numPseudoLayers,
  type ParamLayout,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import { required } from '@cudnn-rnn/canonical/rules'
import type { RnnPassSizes } from '@cudnn-rnn/ops/executor'
import type { CommandFields, CommandList } from '../device/command_list.js'
import type { CommandQueue } from '../device/command_queue.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import { kernelArchitecture } from '../device/device_kernels.js'
import type { DeviceSession } from '../device/device_session.js'
import type { KernelCache } from '../device/kernel_cache.js'
import { multiply, type ProductTypes } from '../device/matrix_products.js'
import type { Arithmetic } from '../device/precision.js'
import { CUBLAS_COMPUTE, CUBLAS_TYPES } from '../sys/cudnn_enums.js'
import type { KernelModule } from '../sys/native_addon.js'
import { clusterBlocks, type PersistentShape, persistentMacros } from './persistent_shape.js'
import type { BackwardOperands, ForwardOperands, InputGradients, LayerKernels, OutputGradients } from './rnn_call.js'

/** Nanoseconds that a block waits for another before it gives up: a step takes a thousandth of that. */
const PATIENCE = 1e9
const FLOAT32_BYTES = 4

export interface PersistentOptions {
  readonly network: RnnDescriptor
  readonly layout: ParamLayout
  readonly arithmetic: Arithmetic
  readonly sizes: RnnPassSizes
  readonly shape: PersistentShape
}

/** The output of a layer [T,B,D·H]: in y, or for a layer below the last in memory of the pass. */
interface LayerOutput {
  readonly buffer: DeviceBuffer
  /** Bytes. */
  readonly offset: number
}

/** One direction of one layer. */
interface PseudoLayer {
  readonly number: number
  readonly isReverse: boolean
  /** The first element of its column of y. */
  readonly column: number
  /** Elements of the parameters before its matrices and biases. */
  readonly input: number
  readonly recurrent: number
  readonly bias: number
  readonly recurrentBias: number
}

/**
 * Passes by the kernels of native/cudnn/kernels/persistent.cu, which take the place of cuDNN's calls: the same operands,
 * results and layout of parameters, but y repeats the last state of a row past its length. A launch computes one direction of
 * one layer. The products that do not depend on the step before are cuBLAS's.
 */
export class PersistentPass implements LayerKernels {
  readonly module: KernelModule
  /** Bytes that a training forward keeps: gates, cells, and the outputs of the layers below the last. */
  readonly reserveBytes: number
  readonly #options: PersistentOptions
  readonly #gates: number
  readonly #steps: number
  /** Elements of a row of y. */
  readonly #stride: number
  /** Bytes of the output of a layer, and of the gates and cells of all. */
  readonly #outputBytes: number
  readonly #savedBytes: number
  /** The types of products of sequences, states and weights. */
  readonly #types: ProductTypes

  private constructor(options: PersistentOptions, module: KernelModule) {
    const { network, arithmetic, sizes } = options
    this.module = module
    this.#options = options
    this.#gates = numGates(network)
    this.#steps = sizes.time * sizes.batch
    const cublasCompute = arithmetic.half === undefined ? arithmetic.cublasCompute : CUBLAS_COMPUTE.float32
    this.#types = { cublasType: CUBLAS_TYPES[arithmetic.half ?? 'float32'], cublasCompute }
    this.#stride = numDirections(network) * network.numUnits
    this.#outputBytes = this.#steps * this.#stride * arithmetic.bytes
    const ofCells = (this.#gates + 1) * this.#steps * network.numUnits * FLOAT32_BYTES
    this.#savedBytes = numPseudoLayers(network) * ofCells
    this.reserveBytes = this.#savedBytes + (network.numLayers - 1) * this.#outputBytes
  }

  /** The text and the options of the kernels: everything that their machine code depends on. */
  static source({ native, libraries, info }: DeviceSession, { network, shape }: PersistentOptions) {
    const architecture = kernelArchitecture(info.computeCapability, native.supportedArchitectures(libraries))
    const options = persistentMacros(network, shape).map((one) => `-D${one}`)
    return { source: native.persistentSource(), options: [`--gpu-architecture=${architecture}`, ...options] }
  }

  /** Compiles the kernels, or finds them, and loads them. Undefined if blocks that exchange cannot run at the same time. */
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
    const { shared, blocks, groups, warps, forwardBytes, backwardBytes } = shape
    const ofClusters = [false, true].map((isBackward) => clusterBlocks(shape, isBackward))
    const [forwardCluster, backwardCluster] = ofClusters
    const sizes = { forwardCluster, backwardCluster, threads: 32 * warps, forwardBytes, backwardBytes }
    list.add('loadPersistent', { module, image, ...sizes })
    const counts = await queue.run(list)
    const resident = counts.map((count, pass) => count * (ofClusters[pass] || session.info.multiProcessors))
    // Clusters of whole layers do not wait for one another.
    const exchanging = shared === 'values' ? blocks : blocks * groups
    if (Math.min(...resident) >= exchanging) return new PersistentPass(options, module)
    queue.releaseNow([module])
    return undefined
  }

  forward(
    list: CommandList,
    { x, hx, cx, y, weights, reserve: saved, lengths }: ForwardOperands,
    { hy, cy }: { readonly hy: DeviceBuffer; readonly cy: DeviceBuffer | undefined },
  ): void {
    const { network } = this.#options
    const columns = this.#columns
    const products = list.allocate(this.#steps * columns * FLOAT32_BYTES)
    const isScratch = saved === undefined && network.numLayers > 1
    const lower = isScratch ? list.allocate((network.numLayers - 1) * this.#outputBytes) : saved
    let input: LayerOutput = { buffer: x, offset: 0 }
    for (let layer = 0; layer < network.numLayers; layer++) {
      const output = this.#output(layer, y, lower, isScratch ? 0 : this.#savedBytes)
      this.#markEmpty(list, { to: output.buffer, offset: output.offset, bytes: this.#outputBytes })
      const inputSize = layerInputSize(network, layer)
      for (const pseudoLayer of this.#pseudoLayers(layer)) {
        multiply(
          list,
          { typeC: CUBLAS_TYPES.float32, ...this.#types },
          { buffer: products },
          [this.#steps, inputSize, columns],
          { stride: inputSize, ...input },
          { buffer: weights, offset: this.#bytes(pseudoLayer.input), stride: inputSize, transposed: true },
        )
        const { bias, recurrentBias } = pseudoLayer
        const operands = { y: output.buffer, hy, cy, saved, products, weights, hx, cx, lengths, bias, recurrentBias }
        this.#launch(list, 'persistent_forward', Object.assign(operands, this.#sizes(pseudoLayer, output)))
      }
      input = output
    }
    products.release()
    if (isScratch) lower?.release()
  }

  backward(
    list: CommandList,
    { x, hx, cx, y, weights, reserve: saved, lengths }: BackwardOperands,
    { dy, dhy, dcy }: OutputGradients,
    { dx, dhx, dcx, dw }: InputGradients,
  ): void {
    const { network, arithmetic, shape } = this.#options
    const { numUnits, cellMode, numLayers } = network
    const isGru = cellMode === 'gru'
    const columns = this.#columns
    const dgates = list.allocate(this.#steps * columns * arithmetic.bytes)
    const dnew = isGru ? list.allocate(this.#steps * numUnits * arithmetic.bytes) : undefined
    const biases = this.#gates + Number(isGru)
    const dbias = list.allocate(shape.groups * biases * numUnits * FLOAT32_BYTES)
    let gradient = dy.retain()
    for (let layer = numLayers - 1; layer >= 0; layer--) {
      const output = this.#output(layer, y, saved)
      const input = layer === 0 ? { buffer: x, offset: 0 } : this.#output(layer - 1, y, saved)
      const inputSize = layerInputSize(network, layer)
      const dinput = layer === 0 ? dx.retain() : list.allocate(this.#outputBytes)
      for (const pseudoLayer of this.#pseudoLayers(layer)) {
        const { bias, recurrentBias } = pseudoLayer
        this.#markEmpty(list, { to: dgates, offset: 0, bytes: dgates.bytes })
        const given = { dy: gradient, dhy, dcy, weights, saved, y: output.buffer, hx, cx, lengths }
        const sizes = this.#sizes(pseudoLayer, output)
        this.#launch(list, 'persistent_backward', { dgates, dnew, dbias, dhx, dcx, ...given, ...sizes })
        // The gradients of x's products: a GRU's n has its own, as the reset gate is between it and the recurrent product.
        const parts = [
          { buffer: dgates, stride: columns, first: 0, count: dnew === undefined ? columns : columns - numUnits },
          ...(dnew === undefined
            ? []
            : [{ buffer: dnew, stride: numUnits, first: columns - numUnits, count: numUnits }]),
        ]
        for (const { buffer, stride, first, count } of parts) {
          const part = { buffer, stride }
          const place = { offset: this.#bytes(pseudoLayer.input + first * inputSize), stride: inputSize }
          const beta = first > 0 || pseudoLayer.isReverse ? 1 : 0
          const ofInput = { buffer: weights, ...place }
          multiply(list, this.#types, { buffer: dinput }, [this.#steps, count, inputSize], part, ofInput, beta)
          const transposed = { transposed: true, ...part }
          const ofWeights = { buffer: dw, ...place }
          const factor = { stride: inputSize, ...input }
          multiply(list, this.#types, ofWeights, [count, this.#steps, inputSize], transposed, factor)
        }
        this.#multiplyRecurrent(list, pseudoLayer, { dw, dgates, hx, output })
        const threads = 32 * shape.warps
        const blocks = Math.ceil((biases * numUnits) / threads)
        list.launchPersistent(
          'persistent_bias',
          { module: this.module, isCooperative: 0, blocks, groups: 1, threads, sharedBytes: 0 },
          { dw, dbias, groups: shape.groups, bias, recurrentBias },
        )
      }
      gradient.release()
      gradient = dinput
    }
    for (const buffer of [dgates, dnew, dbias, gradient]) buffer?.release()
  }

  /** Adds dR = Σ dgates · hᵀ to `list`, of h before each step: the output of the step before, and hx. */
  #multiplyRecurrent(
    list: CommandList,
    { number, isReverse, column, recurrent }: PseudoLayer,
    operands: { dw: DeviceBuffer; dgates: DeviceBuffer; hx: DeviceBuffer | undefined; output: LayerOutput },
  ): void {
    const { dw, dgates, hx, output } = operands
    const { network, sizes } = this.#options
    const { numUnits } = network
    const columns = this.#columns
    const target = { buffer: dw, offset: this.#bytes(recurrent) }
    const gradient = (firstStep: number) => {
      const offset = this.#bytes(firstStep * sizes.batch * columns)
      return { buffer: dgates, offset, stride: columns, transposed: true }
    }
    const rest = (sizes.time - 1) * sizes.batch
    if (rest > 0) {
      const offset = output.offset + this.#bytes(column + (isReverse ? sizes.batch * this.#stride : 0))
      const before = { buffer: output.buffer, offset, stride: this.#stride }
      multiply(list, this.#types, target, [columns, rest, numUnits], gradient(isReverse ? 0 : 1), before)
    }
    if (hx) {
      const initial = { buffer: hx, offset: this.#bytes(number * sizes.batch * numUnits), stride: numUnits }
      const ofFirst = gradient(isReverse ? sizes.time - 1 : 0)
      multiply(list, this.#types, target, [columns, sizes.batch, numUnits], ofFirst, initial, rest > 0 ? 1 : 0)
    } else if (rest === 0) {
      list.add('clear', { to: dw, offset: target.offset, bytes: this.#bytes(columns * numUnits) })
    }
  }

  get #isGrid(): boolean {
    return this.#options.shape.shared !== 'values'
  }

  get #columns(): number {
    return this.#gates * this.#options.network.numUnits
  }

  #bytes(elements: number): number {
    return elements * this.#options.arithmetic.bytes
  }

  /** `lower` has the outputs of the layers below the last from byte `first` on. */
  #output(layer: number, y: DeviceBuffer, lower: DeviceBuffer | undefined, first = this.#savedBytes): LayerOutput {
    if (lower === undefined || layer === this.#options.network.numLayers - 1) return { buffer: y, offset: 0 }
    return { buffer: lower, offset: first + layer * this.#outputBytes }
  }

  *#pseudoLayers(layer: number): Generator<PseudoLayer> {
    const { network, layout } = this.#options
    for (let direction = 0; direction < numDirections(network); direction++) {
      const number = layer * numDirections(network) + direction
      const [input, recurrent] = placesOf(layout.weights, number)
      const [bias, recurrentBias] = placesOf(layout.biases, number)
      const places = { input, recurrent, bias, recurrentBias }
      yield { number, isReverse: direction > 0, column: direction * network.numUnits, ...places }
    }
  }

  #sizes({ number, recurrent }: PseudoLayer, { offset }: LayerOutput) {
    const { sizes, arithmetic } = this.#options
    const { time, batch } = sizes
    return { time, batch, place: offset / arithmetic.bytes, pseudoLayer: number, recurrent, patience: PATIENCE }
  }

  /** Prepares a tensor through which the blocks of a grid exchange; clusters of whole layers poll none. */
  #markEmpty(list: CommandList, target: CommandFields<'markEmpty'>): void {
    if (this.#isGrid) list.add('markEmpty', target)
  }

  #launch<Name extends 'persistent_forward' | 'persistent_backward'>(
    list: CommandList,
    name: Name,
    fields: Parameters<typeof list.launchPersistent<Name>>[2],
  ): void {
    const { blocks, groups, warps, forwardBytes, backwardBytes } = this.#options.shape
    const sharedBytes = name === 'persistent_forward' ? forwardBytes : backwardBytes
    const sizes = { blocks, groups, threads: 32 * warps, sharedBytes }
    list.launchPersistent(name, { module: this.module, isCooperative: Number(this.#isGrid), ...sizes }, fields)
  }
}

/** The first elements of the two sides of a pseudo-layer, whose gates are behind one another. */
function placesOf(regions: ParamLayout['weights'], pseudoLayer: number): [number, number] {
  const ofSide = (side: string) => regions.find((one) => one.pseudoLayer === pseudoLayer && one.side === side)
  return [required(ofSide('input'), 'it has an input side').offset, required(ofSide('recurrent'), 'and another').offset]
}
