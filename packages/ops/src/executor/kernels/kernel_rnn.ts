import type { RnnForwardResult, RnnInputGradients, Tape, TensorLike } from '@cudnn-rnn/ops'
import {
  type CanonicalParams,
  elementCount,
  type FloatArray,
  flatLayout,
  layoutKey,
  numPseudoLayers,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import { checkSelection } from '../arguments/canonical_selection.js'
import { HostRnn } from '../host/host_rnn.js'
import { HostTensor } from '../host/host_tensor.js'
import { checkOwnTape } from '../memory/open_tape.js'
import { OperandVersions, RnnTape } from '../memory/rnn_tape.js'
import { passShapes } from '../arguments/pass_shapes.js'
import {
  checkBackwardArguments,
  checkForwardArguments,
  type RnnForwardInputs,
  type RnnOutputGradients,
  type RnnPassSizes,
} from '../arguments/rnn_arguments.js'
import { queueCopy } from './boundary_kernels.js'
import type { KernelNetwork, KernelTapeMemory } from './kernel_boundary.js'
import type { KernelExecutor } from './kernel_executor.js'
import { KernelStream } from './kernel_stream.js'
import { packPanels, unpackPanels } from './panel_packing.js'
import { QuantizedParamsCache } from './quantized_params.js'

/** Intermediate values of a training forward of an executor over the kernels. */
interface TapeContents {
  readonly sizes: RnnPassSizes
  readonly params: FloatArray
  readonly paramsVersion: number | undefined
  readonly input: FloatArray
  readonly kept: KernelTapeMemory
}

class KernelTape extends RnnTape<TapeContents> {
  /** A backward that is still queued keeps the memory until it is done. */
  protected override free({ kept }: TapeContents): void {
    kept.release()
  }
}

/**
 * A network of an executor over the kernels. Its opaque layout is the panels that they stream through (native/cpu/src/weights/network.h).
 */
export class KernelRnn extends HostRnn {
  readonly #executor: KernelExecutor
  readonly #network: KernelNetwork
  readonly #quantized: QuantizedParamsCache

  /** Throws RangeError `ERR_PARAMS_TOO_LARGE`. */
  constructor(executor: KernelExecutor, descriptor: RnnDescriptor) {
    flatLayout(descriptor) // refuses what cuDNN cannot hold
    const network = executor.makeNetwork(descriptor)
    super(executor.memory, descriptor, network.paramsSize())
    this.#executor = executor
    this.#network = network
    this.#quantized = new QuantizedParamsCache(executor, network, numPseudoLayers(descriptor))
  }

  protected override pack(canonical: CanonicalParams, params: FloatArray): FloatArray {
    return packPanels(this.#executor, this.#network, this.descriptor, canonical, params)
  }

  protected override stream(params: TensorLike, batch: number): KernelStream {
    return new KernelStream(this.#executor, this.#network, this.#quantized, params, batch)
  }

  async paramsToCanonical(params: TensorLike, selection?: ReadonlySet<number>): Promise<CanonicalParams> {
    const action = 'convert opaque parameters'
    const given = this.checkParams(action, params)
    checkSelection(action, selection)
    const { memory } = this
    if (selection !== undefined) {
      if (given instanceof HostTensor && given.job > 0) await memory.done(given.job)
      this.life.check(action)
      return unpackPanels(this.#executor, this.#network, this.descriptor, memory.floats(given), selection)
    }
    // A copy in the queue: the present values, before later work of the queue.
    const copy = memory.allocate(this.paramsSize)
    await memory.done(queueCopy(this.#executor, copy, memory.floats(given)))
    return unpackPanels(this.#executor, this.#network, this.descriptor, copy)
  }

  async forward(inputs: RnnForwardInputs): Promise<RnnForwardResult> {
    const action = 'run forward'
    this.life.check(action)
    const { descriptor } = this
    const { makeTape, memory, operations, allocateResult } = this.#executor
    const { sizes, shapes, operands, training } = checkForwardArguments(memory, descriptor, this.paramsSize, inputs)
    const { input, inputH, inputC, params } = operands
    // The backward reads the input and the parameters again.
    const elements = training ? memory.lastingFloats(input) : memory.floats(input)
    const h = inputH ? memory.floats(inputH) : null
    const c = inputC ? memory.floats(inputC) : null
    const paramsElements = training ? memory.lastingFloats(params) : memory.floats(params)

    const output = allocateResult(elementCount(shapes.output))
    const hFinal = allocateResult(elementCount(shapes.h))
    const cFinal = shapes.c === undefined ? null : allocateResult(elementCount(shapes.c))
    const paramsVersion = params instanceof HostTensor ? params.version : undefined
    const tape = training ? makeTape() : null
    const quantized = training ? null : (this.#quantized.of(params, paramsElements, sizes.batch)?.weights ?? null)
    const rounds = training && this.#quantized.isRounded(sizes)
    let job: number
    try {
      job = operations.forward(
        this.#network,
        sizes.time,
        sizes.batch,
        elements,
        h,
        c,
        paramsElements,
        quantized,
        sizes.sequenceLengths,
        this.dropoutPosition,
        output,
        hFinal,
        cFinal,
        tape,
        rounds,
        paramsVersion,
      )
    } catch (error) {
      // The kernels may have filled a part of it before they ran out of memory.
      tape?.release()
      throw error
    }
    if (training && descriptor.dropout > 0) this.dropoutPosition += (descriptor.numLayers - 1) * output.length
    const result = {
      output: memory.result(shapes.output, output, job),
      outputH: memory.result(shapes.h, hFinal, job),
      outputC: cFinal === null || shapes.c === undefined ? undefined : memory.result(shapes.c, cFinal, job),
      tape: undefined as KernelTape | undefined,
    }
    if (tape === null) return result
    const contents = { sizes, params: paramsElements, paramsVersion, input: elements, kept: tape }
    const versions = new OperandVersions({ output: result.output, ...operands })
    result.tape = new KernelTape(memory.ledger, { rnn: this, contents, bytes: tape.bytes, versions })
    return result
  }

  async backward(tape: Tape, gradients: RnnOutputGradients): Promise<RnnInputGradients> {
    const action = 'run backward'
    this.life.check(action)
    checkOwnTape(tape, KernelTape)
    const { sizes, params, paramsVersion, input, kept } = tape.contentsFor(this)
    const { descriptor } = this
    const { memory, operations, allocateResult } = this.#executor
    const { output, outputH, outputC } = checkBackwardArguments(memory, descriptor, sizes, gradients)
    const elements = (gradient: TensorLike | null) => (gradient ? memory.floats(gradient) : null)
    const [dOutput, dhFinal, dcFinal] = [elements(output), elements(outputH), elements(outputC)]
    const shapes = passShapes(descriptor, sizes)
    const dInput = allocateResult(elementCount(shapes.input))
    const dh = allocateResult(elementCount(shapes.h))
    const dc = shapes.c === undefined ? null : allocateResult(elementCount(shapes.c))
    const dParams = allocateResult(this.paramsSize)
    const job = operations.backward({
      ...{ network: this.#network, rounds: this.#quantized.isRounded(sizes), input, params, paramsVersion, tape: kept },
      ...{ dOutput, dhFinal, dcFinal, dInput, dh, dc, dParams },
    })
    tape.consume()
    return {
      input: memory.result(shapes.input, dInput, job),
      inputH: memory.result(shapes.h, dh, job),
      inputC: dc === null || shapes.c === undefined ? undefined : memory.result(shapes.c, dc, job),
      params: memory.result([this.paramsSize], dParams, job, layoutKey(descriptor)),
    }
  }
}
