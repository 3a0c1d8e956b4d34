import {
  checkBackwardArguments,
  checkForwardArguments,
  checkOwnTape,
  checkTensor,
  isBackendTensor,
  Philox,
  type Rnn,
  type RnnForwardInputs,
  type RnnForwardResult,
  type RnnInputGradients,
  type RnnOutputGradients,
  type RnnPassSizes,
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
  numDirections,
  numPseudoLayers,
  outputSize,
  type ParamLayout,
  packCanonical,
  type RnnDescriptor,
  unpackCanonical,
} from '@cudnn-rnn/canonical'
import { drawDropoutScales, scaled } from './dropout.js'
import { runLayerBackward } from './layer_backward.js'
import { createLayerRecord, type LayerRecord, runLayerForward } from './layer_forward.js'
import { type LayerParams, layerParams } from './layer_params.js'
import type { LayerPass } from './layer_pass.js'
import { withoutPadding } from './padding.js'
import type { PreparedNetwork } from './prepared_network.js'
import type { ReferenceMemory } from './reference_memory.js'
import { ReferenceStepper } from './reference_stepper.js'
import { ReferenceTape } from './reference_tape.js'
import type { ReferenceTensor } from './reference_tensor.js'
import { timeOrder } from './time_order.js'

/** A network on the reference executor. Its opaque layout is the flat canonical one, which is cuDNN's. */
export class ReferenceRnn implements Rnn, PreparedNetwork {
  readonly descriptor: RnnDescriptor
  readonly paramsSize: number
  readonly layout: ParamLayout
  readonly layers: readonly LayerParams[]
  readonly memory: ReferenceMemory
  readonly #layoutKey: string
  readonly #random: Philox
  #disposed = false

  constructor(memory: ReferenceMemory, descriptor: RnnDescriptor) {
    this.memory = memory
    this.descriptor = descriptor
    this.layout = flatLayout(descriptor)
    this.paramsSize = this.layout.size
    this.layers = layerParams(descriptor, this.layout)
    this.#layoutKey = layoutKey(descriptor)
    this.#random = new Philox(descriptor.seed)
    memory.ledger.add('rnns')
  }

  canonicalToParams(canonical: CanonicalParams): ReferenceTensor {
    this.checkAlive('convert canonical parameters')
    const flat = packCanonical(this.layout, canonical, this.memory.allocate(this.paramsSize))
    return this.memory.create([this.paramsSize], flat, this.#layoutKey)
  }

  async paramsToCanonical(params: TensorLike): Promise<CanonicalParams> {
    const action = 'convert opaque parameters'
    this.checkAlive(action)
    return unpackCanonical(this.layout, this.params(action, params))
  }

  params(action: string, params: TensorLike): FloatArray {
    const rule = {
      dtype: this.memory.dtype,
      shape: [this.paramsSize],
      layout: this.#layoutKey,
    }
    checkTensor(action, 'params', params, rule)
    return this.memory.floats(action, 'params', params)
  }

  async forward(inputs: RnnForwardInputs): Promise<RnnForwardResult> {
    const action = 'run forward'
    this.checkAlive(action)
    const { descriptor, memory } = this
    const sizes = checkForwardArguments(descriptor, memory.dtype, this.paramsSize, inputs)
    const { time, batch, sequenceLengths } = sizes
    // The backward reads both again: of a host array it needs a copy, as nobody would notice a change.
    const operand = (name: 'input' | 'params') =>
      inputs.training && !isBackendTensor(inputs[name])
        ? memory.floats(action, name, inputs[name]).slice()
        : memory.floats(action, name, inputs[name])
    const input = sequenceLengths === null ? operand('input') : withoutPadding(operand('input'), sizes)
    const flat = operand('params')
    const states = this.#startingStates(action, batch, {
      inputH: inputs.inputH,
      inputC: inputs.inputC,
    })

    const outputColumns = outputSize(descriptor)
    const layerInputs = [input]
    const dropoutScales: FloatArray[] = []
    const records: LayerRecord[] = []
    let output = input
    for (let layer = 0; layer < descriptor.numLayers; layer++) {
      output = memory.allocate(time * batch * outputColumns)
      for (const pass of this.#layerPasses(layer, flat, sizes)) {
        const record = inputs.training ? createLayerRecord(descriptor, time * batch, memory.allocate) : undefined
        if (record !== undefined) records.push(record)
        runLayerForward({
          ...pass,
          input: layerInputs[layer]!,
          output,
          hidden: statesOf(states.h, pass.pseudoLayer, descriptor),
          cell: statesOf(states.c, pass.pseudoLayer, descriptor),
          record,
        })
      }
      if (layer === descriptor.numLayers - 1) break
      if (inputs.training && descriptor.dropout > 0) {
        const scales = drawDropoutScales(memory.allocate(output.length), descriptor.dropout, this.#random)
        dropoutScales.push(scales)
        layerInputs.push(scaled(output, scales))
      } else {
        layerInputs.push(output)
      }
    }

    const pseudoLayers = numPseudoLayers(descriptor)
    const result = {
      output: memory.create([time, batch, outputColumns], output),
      outputH: memory.create([pseudoLayers, batch, hiddenColumns(descriptor)], states.h),
      outputC:
        descriptor.cellMode === 'lstm'
          ? memory.create([pseudoLayers, batch, descriptor.numUnits], states.c)
          : undefined,
    }
    if (!inputs.training) return { ...result, tape: undefined }
    const operands = { ...inputs, output: result.output }
    const kept = { rnn: this, sizes, params: flat, layerInputs, dropoutScales, records, operands }
    return { ...result, tape: new ReferenceTape(memory.ledger, kept) }
  }

  async backward(tape: Tape, gradients: RnnOutputGradients): Promise<RnnInputGradients> {
    const action = 'run backward'
    this.checkAlive(action)
    checkOwnTape(tape, ReferenceTape)
    const contents = tape.contents()
    if (contents.rnn !== this) {
      throw codedTypeError('ERR_TAPE_FOREIGN', 'Cannot run backward as the tape belongs to another network.')
    }
    const { descriptor, memory } = this
    const { sizes, layerInputs, dropoutScales, records, params: flat } = contents
    const { time, batch } = sizes
    checkBackwardArguments(descriptor, memory.dtype, sizes, gradients)
    const states = this.#startingStates(action, batch, {
      outputH: gradients.outputH,
      outputC: gradients.outputC,
    })

    const outputColumns = outputSize(descriptor)
    const flatGradient = memory.allocate(this.paramsSize)
    let outputGradient =
      gradients.output === undefined
        ? memory.allocate(time * batch * outputColumns)
        : memory.floats(action, 'output', gradients.output)
    for (let layer = descriptor.numLayers - 1; layer >= 0; layer--) {
      const input = layerInputs[layer]!
      let inputGradient = memory.allocate(input.length)
      for (const pass of this.#layerPasses(layer, flat, sizes)) {
        runLayerBackward({
          ...pass,
          record: records[pass.pseudoLayer]!,
          input,
          outputGradient,
          hiddenGradient: statesOf(states.h, pass.pseudoLayer, descriptor),
          cellGradient: statesOf(states.c, pass.pseudoLayer, descriptor),
          inputGradient,
          flatGradient,
        })
      }
      const scales = dropoutScales[layer - 1]
      if (scales !== undefined) inputGradient = scaled(inputGradient, scales)
      outputGradient = inputGradient
    }

    tape.consume()
    const pseudoLayers = numPseudoLayers(descriptor)
    return {
      input: memory.create([time, batch, descriptor.inputSize], outputGradient),
      inputH: memory.create([pseudoLayers, batch, hiddenColumns(descriptor)], states.h),
      inputC:
        descriptor.cellMode === 'lstm'
          ? memory.create([pseudoLayers, batch, descriptor.numUnits], states.c)
          : undefined,
      params: memory.create([this.paramsSize], flatGradient, this.#layoutKey),
    }
  }

  stepper(params: TensorLike, batch: number): RnnStepper {
    this.checkAlive('open a stream')
    return new ReferenceStepper(this, params, batch)
  }

  async dropoutState(): Promise<Uint8Array> {
    this.checkAlive('read the dropout state')
    return new Uint8Array(Float64Array.of(this.#random.position).buffer)
  }

  restoreDropoutState(state: Uint8Array): void {
    this.checkAlive('restore the dropout state')
    const position = state.length === 8 ? new Float64Array(Uint8Array.from(state).buffer)[0]! : Number.NaN
    if (!Number.isSafeInteger(position) || position < 0) {
      throw codedRangeError(
        'ERR_DROPOUT_STATE',
        `Cannot restore the dropout state as it must be the 8 bytes that dropoutState() of a reference executor gave: current length is ${state.length}`,
      )
    }
    this.#random.seek(position)
  }

  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    this.memory.ledger.remove('rnns')
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  checkAlive(action: string): void {
    this.memory.checkAlive(action)
    if (!this.#disposed) return
    throw codedRangeError('ERR_RNN_DISPOSED', `Cannot ${action} as the network was disposed`)
  }

  /** The passes of one layer, forward direction first. */
  #layerPasses(layer: number, flat: FloatArray, { time, batch, sequenceLengths }: RnnPassSizes): LayerPass[] {
    const { descriptor, memory } = this
    const directions = numDirections(descriptor)
    return Array.from({ length: directions }, (_, direction) => ({
      descriptor,
      pseudoLayer: layer * directions + direction,
      params: this.layers[layer * directions + direction]!,
      flat,
      order: timeOrder(direction, time, sequenceLengths),
      time,
      batch,
      outputColumns: outputSize(descriptor),
      outputColumn: direction * hiddenColumns(descriptor),
      allocate: memory.allocate,
    }))
  }

  /** Copies of the h and the c given (zeros for absent ones), to be updated in place into the final states. */
  #startingStates(action: string, batch: number, given: Readonly<Record<string, TensorLike | null | undefined>>) {
    const { descriptor, memory } = this
    const rows = numPseudoLayers(descriptor) * batch
    const [h, c] = Object.entries(given).map(([name, state]) =>
      state === null || state === undefined ? undefined : memory.floats(action, name, state).slice(),
    )
    return {
      h: h ?? memory.allocate(rows * hiddenColumns(descriptor)),
      c: c ?? memory.allocate(descriptor.cellMode === 'lstm' ? rows * descriptor.numUnits : 0),
    }
  }
}

/** The [B,·] part of states [L·D,B,·] that belongs to one pseudo-layer, as a view. */
function statesOf(states: FloatArray, pseudoLayer: number, descriptor: RnnDescriptor): FloatArray {
  const length = states.length / numPseudoLayers(descriptor)
  return states.subarray(pseudoLayer * length, (pseudoLayer + 1) * length)
}
