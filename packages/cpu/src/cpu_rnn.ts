import {
  checkBackwardArguments,
  checkForwardArguments,
  checkOwnTape,
  checkTensor,
  type Rnn,
  type RnnForwardInputs,
  type RnnForwardResult,
  type RnnInputGradients,
  type RnnOutputGradients,
  type RnnStepper,
  type Tape,
  type TensorLike,
} from '@cudnn-rnn/backend'
import {
  type CanonicalParams,
  codedRangeError,
  codedTypeError,
  type FloatArray,
  flatLayout,
  hiddenColumns,
  layoutKey,
  numPseudoLayers,
  outputSize,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import type { CpuMemory } from './cpu_memory.js'
import { CpuStepper } from './cpu_stepper.js'
import { CpuTape } from './cpu_tape.js'
import type { CpuTensor } from './cpu_tensor.js'
import { NarrowParamsCache } from './narrow_params.js'
import type { NativeNetwork } from './native_addon.js'
import { packPanels, unpackPanels } from './panel_packing.js'

/** A network on the CPU executor. Its opaque layout is the panels its kernels stream through (native/cpu/src/network.h). */
export class CpuRnn implements Rnn {
  readonly descriptor: RnnDescriptor
  readonly paramsSize: number
  readonly #memory: CpuMemory
  readonly #network: NativeNetwork
  readonly #narrow: NarrowParamsCache
  readonly #layoutKey: string
  /** Words of the dropout generator drawn so far. */
  #dropoutPosition = 0
  #disposed = false

  /** Throws RangeError `ERR_PARAMS_TOO_LARGE`. */
  constructor(memory: CpuMemory, descriptor: RnnDescriptor) {
    flatLayout(descriptor) // refuses what cuDNN cannot hold
    this.#memory = memory
    this.descriptor = descriptor
    this.#network = new memory.addon.NativeNetwork(descriptor, memory.dtype === 'float64')
    this.paramsSize = this.#network.paramsSize()
    this.#narrow = new NarrowParamsCache(memory, this.#network)
    this.#layoutKey = layoutKey(descriptor)
    memory.ledger.add('rnns')
  }

  canonicalToParams(canonical: CanonicalParams): CpuTensor {
    this.#checkAlive('convert canonical parameters')
    const flat = packPanels(this.#network, this.descriptor, canonical, this.#memory.allocate(this.paramsSize))
    return this.#memory.create([this.paramsSize], flat, this.#layoutKey)
  }

  async paramsToCanonical(params: TensorLike): Promise<CanonicalParams> {
    const action = 'convert opaque parameters'
    this.#checkAlive(action)
    this.#checkParams(action, params)
    // A copy in the queue: the values of now, whatever is queued meanwhile.
    const copy = this.#memory.allocate(this.paramsSize)
    const operands = [copy, this.#memory.floats(action, 'params', params)]
    await this.#memory.done(this.#memory.executor.update({ rule: 0, operands, numbers: new Float64Array(0) }))
    return unpackPanels(this.#network, this.descriptor, copy, this.#memory.allocate)
  }

  async forward(inputs: RnnForwardInputs): Promise<RnnForwardResult> {
    const action = 'run forward'
    this.#checkAlive(action)
    const { descriptor } = this
    const memory = this.#memory
    const sizes = checkForwardArguments(descriptor, memory.dtype, this.paramsSize, inputs)
    const { time, batch, sequenceLengths } = sizes
    const elements = (name: 'input' | 'inputH' | 'inputC' | 'params') =>
      isAbsent(inputs[name]) ? null : memory.floats(action, name, inputs[name])
    const input = elements('input') as FloatArray
    const params = elements('params') as FloatArray
    const [h, c] = [elements('inputH'), elements('inputC')]

    const pseudoLayers = numPseudoLayers(descriptor)
    const shapes = {
      output: [time, batch, outputSize(descriptor)],
      h: [pseudoLayers, batch, hiddenColumns(descriptor)],
      c: [pseudoLayers, batch, descriptor.numUnits],
    }
    const output = memory.allocate(time * batch * outputSize(descriptor))
    const hFinal = memory.allocate(pseudoLayers * batch * hiddenColumns(descriptor))
    const cFinal = descriptor.cellMode === 'lstm' ? memory.allocate(pseudoLayers * batch * descriptor.numUnits) : null
    const tape = inputs.training ? new memory.addon.NativeTape() : null
    const narrow = inputs.training ? null : (this.#narrow.of(inputs.params, params)?.weights ?? null)
    const job = memory.executor.forward({
      ...{ network: this.#network, time, batch, input, h, c, params, narrow, lengths: sequenceLengths },
      ...{ dropoutPosition: this.#dropoutPosition, output, hFinal, cFinal, tape },
    })
    if (inputs.training && descriptor.dropout > 0) this.#dropoutPosition += (descriptor.numLayers - 1) * output.length
    const result = {
      output: memory.result(shapes.output, output, job),
      outputH: memory.result(shapes.h, hFinal, job),
      outputC: cFinal === null ? undefined : memory.result(shapes.c, cFinal, job),
    }
    if (tape === null) return { ...result, tape: undefined }
    const operands = { ...inputs, output: result.output }
    return {
      ...result,
      tape: new CpuTape(memory.ledger, { rnn: this, sizes, params, input, native: tape, operands }),
    }
  }

  async backward(tape: Tape, gradients: RnnOutputGradients): Promise<RnnInputGradients> {
    const action = 'run backward'
    this.#checkAlive(action)
    checkOwnTape(tape, CpuTape)
    const { rnn, sizes, params, input, native } = tape.contents()
    if (rnn !== this) {
      throw codedTypeError('ERR_TAPE_FOREIGN', 'Cannot run backward as the tape belongs to another network.')
    }
    const { descriptor } = this
    const memory = this.#memory
    checkBackwardArguments(descriptor, memory.dtype, sizes, gradients)
    const elements = (name: keyof RnnOutputGradients) =>
      isAbsent(gradients[name]) ? null : memory.floats(action, name, gradients[name])
    const given = { dOutput: elements('output'), dhFinal: elements('outputH'), dcFinal: elements('outputC') }

    const { time, batch } = sizes
    const rows = numPseudoLayers(descriptor) * batch
    const dInput = memory.allocate(time * batch * descriptor.inputSize)
    const dh = memory.allocate(rows * hiddenColumns(descriptor))
    const dc = descriptor.cellMode === 'lstm' ? memory.allocate(rows * descriptor.numUnits) : null
    const dParams = memory.allocate(this.paramsSize)
    const results = { dInput, dh, dc, dParams }
    const job = memory.executor.backward({ network: this.#network, input, params, tape: native, ...given, ...results })
    tape.consume()
    const pseudoLayers = numPseudoLayers(descriptor)
    return {
      input: memory.result([time, batch, descriptor.inputSize], dInput, job),
      inputH: memory.result([pseudoLayers, batch, hiddenColumns(descriptor)], dh, job),
      inputC: dc === null ? undefined : memory.result([pseudoLayers, batch, descriptor.numUnits], dc, job),
      params: memory.result([this.paramsSize], dParams, job, this.#layoutKey),
    }
  }

  stepper(params: TensorLike, batch: number): RnnStepper {
    const action = 'open a stream'
    this.#checkAlive(action)
    this.#checkParams(action, params)
    const checkNetwork = (action: string) => this.#checkAlive(action)
    return new CpuStepper(this.#memory, this.descriptor, this.#network, this.#narrow, params, batch, checkNetwork)
  }

  async dropoutState(): Promise<Uint8Array> {
    this.#checkAlive('read the dropout state')
    return new Uint8Array(Float64Array.of(this.#dropoutPosition).buffer)
  }

  restoreDropoutState(state: Uint8Array): void {
    this.#checkAlive('restore the dropout state')
    const position = state.length === 8 ? new Float64Array(Uint8Array.from(state).buffer)[0]! : Number.NaN
    if (!Number.isSafeInteger(position) || position < 0) {
      throw codedRangeError(
        'ERR_DROPOUT_STATE',
        `Cannot restore the dropout state as it must be the 8 bytes that dropoutState() of a host executor gave: current length is ${state.length}`,
      )
    }
    this.#dropoutPosition = position
  }

  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    this.#memory.ledger.remove('rnns')
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  #checkParams(action: string, params: TensorLike): void {
    checkTensor(action, 'params', params, {
      dtype: this.#memory.dtype,
      shape: [this.paramsSize],
      layout: this.#layoutKey,
    })
  }

  #checkAlive(action: string): void {
    this.#memory.checkAlive(action)
    if (!this.#disposed) return
    throw codedRangeError('ERR_RNN_DISPOSED', `Cannot ${action} as the network was disposed`)
  }
}

/** An absent tensor: null where the contract says null, undefined where it was left out. */
function isAbsent(tensor: TensorLike | null | undefined): tensor is null | undefined {
  return tensor === null || tensor === undefined
}
