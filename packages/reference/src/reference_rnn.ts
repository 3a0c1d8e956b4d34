import {
  type CanonicalParams,
  elementCount,
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
import type { RnnForwardResult, RnnInputGradients, Tape, TensorLike } from '@cudnn-rnn/ops'
import {
  allocating,
  checkBackwardArguments,
  checkForwardArguments,
  checkOwnTape,
  checkSelection,
  type HostMemory,
  HostRnn,
  OperandVersions,
  type PassShapes,
  passShapes,
  Philox,
  type RnnForwardInputs,
  type RnnOutputGradients,
  type RnnPassSizes,
  RnnTape,
  selectedCanonical,
} from '@cudnn-rnn/ops/executor'
import { clipInitialCellGradients, clipInitialCells, storedCellClip } from './cell_clip.js'
import { drawDropoutScales, scaled } from './dropout.js'
import { runLayerBackward } from './layer_backward.js'
import { createLayerRecord, layerForward, type LayerPass, type LayerRecord } from './layer_forward.js'
import { type LayerParams, layerParams, type PreparedNetwork } from './layer_params.js'
import { withoutPadding } from './padding.js'
import { ReferenceStream } from './reference_stream.js'
import { timeOrder } from './time_order.js'

/** State from a training forward of the reference executor to its backward. */
interface TapeContents {
  readonly sizes: RnnPassSizes
  readonly params: FloatArray
  /** The input of every layer, after dropout. */
  readonly layerInputs: readonly FloatArray[]
  /** Scale of every element of the layer outputs that dropout was applied to: 0 or 1/(1-p). */
  readonly dropoutScales: readonly FloatArray[]
  /** The cell states that entered, clipped; undefined without a clip. */
  readonly initialCells: FloatArray | undefined
  /** By pseudo-layer. */
  readonly records: readonly LayerRecord[]
}

/** The tape of one training forward. */
class ReferenceTape extends RnnTape<TapeContents> {}

/** The memory that a tape keeps alive: the first layer's input and the parameters are the caller's. */
function tapeBytes({ layerInputs, dropoutScales, initialCells, records }: TapeContents): number {
  const kept = records.flatMap(({ saved, previousHidden, unprojected }) => [saved, previousHidden, unprojected])
  const all = [...layerInputs.slice(1), ...dropoutScales, initialCells, ...kept]
  return all.reduce((sum, array) => sum + (array?.byteLength ?? 0), 0)
}

/** A network on the reference executor. Its opaque layout is the flat canonical one, which is cuDNN's. */
export class ReferenceRnn extends HostRnn implements PreparedNetwork {
  readonly layout: ParamLayout
  readonly layers: readonly LayerParams[]
  readonly #random: Philox

  constructor(memory: HostMemory, descriptor: RnnDescriptor) {
    const layout = flatLayout(descriptor)
    super(memory, descriptor, layout.size)
    this.layout = layout
    this.layers = layerParams(descriptor, layout)
    this.#random = new Philox(descriptor.seed)
  }

  protected override pack(canonical: CanonicalParams, params: FloatArray): FloatArray {
    return packCanonical(this.layout, canonical, params)
  }

  protected override stream(params: TensorLike, batch: number): ReferenceStream {
    return new ReferenceStream(this, this.memory.floats(params), batch)
  }

  async paramsToCanonical(params: TensorLike, selection?: ReadonlySet<number>): Promise<CanonicalParams> {
    const action = 'convert opaque parameters'
    const flat = this.memory.floats(this.checkParams(action, params))
    checkSelection(action, selection)
    if (selection === undefined) return allocating(action, () => unpackCanonical(this.layout, flat), flat.byteLength)
    return selectedCanonical(this.descriptor, selection, flat, ({ size }, kind, index) => {
      const { offset } = this.layout[kind][index]
      return allocating(action, () => flat.slice(offset, offset + size), size * flat.BYTES_PER_ELEMENT)
    })
  }

  async forward(inputs: RnnForwardInputs): Promise<RnnForwardResult> {
    const action = 'run forward'
    this.life.check(action)
    const { descriptor, memory } = this
    const { sizes, shapes, operands, training } = checkForwardArguments(memory, descriptor, this.paramsSize, inputs)
    const { time, batch, sequenceLengths } = sizes
    // The backward reads both again. A host array is copied, because its changes are not versioned.
    const operand = (tensor: TensorLike) => (training ? memory.lastingFloats(tensor) : memory.floats(tensor))
    const input =
      sequenceLengths === null
        ? operand(operands.input)
        : withoutPadding(memory.copy(memory.floats(operands.input)), sizes)
    const flat = operand(operands.params)
    const states = this.#startingStates(shapes, operands.inputH, operands.inputC)
    const isClipped = descriptor.cellClip !== undefined
    if (isClipped) clipInitialCells(states.c, storedCellClip(descriptor, memory.allocate))
    const initialCells = training && isClipped ? memory.copy(states.c) : undefined

    const layerInputs = [input]
    const dropoutScales: FloatArray[] = []
    const records: LayerRecord[] = []
    let output = input
    for (let layer = 0; layer < descriptor.numLayers; layer++) {
      output = memory.allocate(elementCount(shapes.output))
      for (const pass of this.#layerPasses(layer, flat, sizes)) {
        const record = training ? createLayerRecord(descriptor, time * batch, memory.allocate) : undefined
        if (record !== undefined) records.push(record)
        layerForward({
          input: layerInputs[layer],
          output,
          hidden: statesOf(states.h, pass.pseudoLayer, descriptor),
          cell: statesOf(states.c, pass.pseudoLayer, descriptor),
          record,
          ...pass,
        })()
      }
      if (layer === descriptor.numLayers - 1) break
      if (training && descriptor.dropout > 0) {
        this.#random.seek(this.dropoutPosition)
        const scales = drawDropoutScales(memory.allocate(output.length), descriptor.dropout, this.#random)
        this.dropoutPosition = this.#random.position
        dropoutScales.push(scales)
        layerInputs.push(scaled(output, scales))
      } else {
        layerInputs.push(output)
      }
    }

    const contents: TapeContents = { sizes, params: flat, layerInputs, dropoutScales, initialCells, records }
    const result = {
      output: memory.create(shapes.output, output),
      outputH: memory.create(shapes.h, states.h),
      outputC: shapes.c && memory.create(shapes.c, states.c),
      tape: undefined as ReferenceTape | undefined,
    }
    if (!training) return result
    const versions = new OperandVersions({ output: result.output, ...operands })
    result.tape = new ReferenceTape(memory.ledger, { rnn: this, contents, bytes: tapeBytes(contents), versions })
    return result
  }

  async backward(tape: Tape, gradients: RnnOutputGradients): Promise<RnnInputGradients> {
    const action = 'run backward'
    this.life.check(action)
    checkOwnTape(tape, ReferenceTape)
    const { sizes, layerInputs, dropoutScales, initialCells, records, params: flat } = tape.contentsFor(this)
    const { descriptor, memory } = this
    const { output, outputH, outputC } = checkBackwardArguments(memory, descriptor, sizes, gradients)
    const shapes = passShapes(descriptor, sizes)
    const states = this.#startingStates(shapes, outputH, outputC)

    const flatGradient = memory.allocate(this.paramsSize)
    let outputGradient = output === null ? memory.allocate(elementCount(shapes.output)) : memory.floats(output)
    for (let layer = descriptor.numLayers - 1; layer >= 0; layer--) {
      const input = layerInputs[layer]
      let inputGradient = memory.allocate(input.length)
      for (const pass of this.#layerPasses(layer, flat, sizes)) {
        runLayerBackward({
          record: records[pass.pseudoLayer],
          input,
          outputGradient,
          hiddenGradient: statesOf(states.h, pass.pseudoLayer, descriptor),
          cellGradient: statesOf(states.c, pass.pseudoLayer, descriptor),
          inputGradient,
          flatGradient,
          ...pass,
        })
      }
      const scales = dropoutScales[layer - 1]
      if (scales !== undefined) inputGradient = scaled(inputGradient, scales)
      outputGradient = withoutPadding(inputGradient, sizes)
    }

    if (initialCells !== undefined) {
      clipInitialCellGradients(states.c, initialCells, storedCellClip(descriptor, memory.allocate))
    }
    tape.consume()
    return {
      input: memory.create(shapes.input, outputGradient),
      inputH: memory.create(shapes.h, states.h),
      inputC: shapes.c && memory.create(shapes.c, states.c),
      params: memory.create([this.paramsSize], flatGradient, layoutKey(descriptor)),
    }
  }

  /** The passes of one layer, forward direction first. */
  #layerPasses(layer: number, flat: FloatArray, { time, batch, sequenceLengths }: RnnPassSizes): LayerPass[] {
    const { descriptor, memory } = this
    const directions = numDirections(descriptor)
    return Array.from({ length: directions }, (_, direction) => ({
      descriptor,
      pseudoLayer: layer * directions + direction,
      params: this.layers[layer * directions + direction],
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
  #startingStates({ h, c }: PassShapes, givenH: TensorLike | null, givenC: TensorLike | null) {
    const { memory } = this
    return {
      h: givenH ? memory.copy(memory.floats(givenH)) : memory.allocate(elementCount(h)),
      c: givenC ? memory.copy(memory.floats(givenC)) : memory.allocate(c === undefined ? 0 : elementCount(c)),
    }
  }
}

/** The [B,·] part of states [L·D,B,·] that belongs to one pseudo-layer, as a view. */
function statesOf(states: FloatArray, pseudoLayer: number, descriptor: RnnDescriptor): FloatArray {
  const length = states.length / numPseudoLayers(descriptor)
  return states.subarray(pseudoLayer * length, (pseudoLayer + 1) * length)
}
