import { type CellActivation, canonicalToKeras, numDirections } from '@cudnn-rnn/canonical'
import { noExport } from '../export_error.js'
import { type ExportedNetwork, exportedNetwork } from '../exported_network.js'
import type { BranchLayer } from '../kinds/branch_layer.js'
import { CellLayer } from '../kinds/cell_layer.js'
import type { RecurrentLayer } from '../kinds/recurrent.js'
import { takesLastOfBackward } from '../kinds/sequence_pooling.js'
import type { Layer } from '../layer.js'
import { described, type KerasConfig, type KerasLayer, placeOf } from './keras_layers.js'
import type { Floats } from './keras_row.js'

const CLASS_NAMES = { lstm: 'LSTM', gru: 'GRU', rnn_tanh: 'SimpleRNN', rnn_relu: 'SimpleRNN' } as const
const OWN_NAMES = ['kernel', 'recurrent_kernel', 'bias'] as const

/** How the calls of a network are read. */
export interface NetworkUse {
  /** It takes its input from the end. */
  readonly isTurned: boolean
  /** Final states are read. */
  readonly returnsState?: boolean
  /** All calls give sequences. */
  readonly isSequence?: boolean
}

export interface Found {
  readonly found: readonly KerasLayer[]
  /** How many layers they compute. */
  readonly taken: number
}

export interface FileUse extends NetworkUse {
  readonly hasMask: boolean
}

/** Whether a layer takes the step that a network computes last. */
export function isLastOf({ output }: Layer, next: Layer | undefined): boolean {
  return next?.kind === 'lastStep' && (output.reversedFrom === undefined) !== takesLastOfBackward(next)
}

export function isOneWay({ output }: Layer): boolean {
  return output.reversedFrom === undefined
}

export async function kerasNetwork(
  layer: RecurrentLayer | CellLayer,
  behind: readonly Layer[],
  { hasMask, isTurned, returnsState, isSequence: isRead }: FileUse,
): Promise<Found> {
  const network = await exportedNetwork('Keras', layer)
  const directions = numDirections(network.descriptor)
  const { numLayers, dropout } = network.descriptor
  const [next] = behind
  const isLast = isRead !== true && isLastOf(layer, next)
  // Both sides of a Bidirectional give zeros at masked steps.
  const isHeld = next?.kind === 'holdPadding' && directions === 1
  const sides = sidesOf(layer, network)
  const found = Array.from({ length: numLayers }, (_, k): KerasLayer => {
    const isSequence = !(isLast && k === numLayers - 1)
    const options = {
      // Between layers here, before a layer's input there; in training only.
      dropout: k === 0 ? 0 : dropout,
      return_sequences: isSequence,
      ...(isTurned && k === 0 && { go_backwards: true }),
      ...(returnsState && { return_state: true }),
      ...(hasMask && directions === 1 && isSequence && { zero_output_for_mask: !isHeld }),
    }
    const own = sides.slice(directions * k, directions * (k + 1)).map((side) => withOptions(side, options))
    return directions === 1 ? own[0] : bothSides(own[0], own[1])
  })
  return { found, taken: isLast || isHeld ? 2 : 1 }
}

function sidesOf(layer: Layer, network: ExportedNetwork): KerasLayer[] {
  const { descriptor, canonical, resetBefore, activation, recurrentActivation } = network
  const { cellMode, numUnits } = descriptor
  const className = CLASS_NAMES[cellMode]
  const named = (function_: CellActivation) => {
    const name = kerasName(function_)
    if (name === undefined) throw noExport('Keras', { ...layer, kind: `${layer.kind} of ${JSON.stringify(function_)}` })
    return name
  }
  const config: KerasConfig = {
    units: numUnits,
    activation: named(activation),
    ...(className !== 'SimpleRNN' && { recurrent_activation: named(recurrentActivation) }),
    ...(cellMode === 'gru' && { reset_after: !resetBefore }),
  }
  return canonicalToKeras(descriptor, canonical).map((weights) => {
    const { bias } = weights
    const width = bias.data.length / 2
    const sum = { data: bias.data.slice(0, width).map((value, k) => value + bias.data[width + k]), shape: [width] }
    const tensors: Readonly<Record<string, Floats>> = resetBefore ? { ...weights, bias: sum } : weights
    const paths = OWN_NAMES.map((key, k) => [`cell/vars/${k}`, tensors[key]] as const)
    return { className, config, variables: Object.fromEntries(paths) }
  })
}

/** Functions of cells with parameters that Keras has under their names. */
const OF_PARAMETERS = new Map([
  [JSON.stringify({ name: 'hard_sigmoid', alpha: 1 / 6 }), 'hard_sigmoid'],
  [JSON.stringify({ name: 'leaky_relu', alpha: 0.2 }), 'leaky_relu'],
])
const FOREIGN = new Set(['affine', 'scaled_tanh', 'thresholded_relu', 'hard_sigmoid', 'leaky_relu'])

function kerasName(activation: CellActivation): string | undefined {
  if (typeof activation === 'object') return OF_PARAMETERS.get(JSON.stringify(activation))
  return FOREIGN.has(activation) ? undefined : activation
}

function withOptions(layer: KerasLayer, options: KerasConfig): KerasLayer {
  return { ...layer, config: { ...layer.config, ...options } }
}

function bothSides(forward: KerasLayer, backward: KerasLayer): KerasLayer {
  const side = ({ className, config }: KerasLayer, prefix: string, goBackwards: boolean) =>
    described(className, { name: `${prefix}_${placeOf(className)}`, ...config, go_backwards: goBackwards })
  const layers = { layer: side(forward, 'forward', false), backward_layer: side(backward, 'backward', true) }
  const variables = [forward, backward].flatMap((own, k) => {
    const place = k === 0 ? 'forward_layer' : 'backward_layer'
    return Object.entries(own.variables ?? {}).map(([path, tensor]) => [`${place}/${path}`, tensor] as const)
  })
  return {
    className: 'Bidirectional',
    config: { merge_mode: 'concat', ...layers },
    variables: Object.fromEntries(variables),
  }
}

/** Two cells side by side, one of which reads from the end: their branches, as `importKeras` makes them. */
export async function cellsOfBothSides({ kind, branches }: BranchLayer): Promise<KerasLayer | undefined> {
  const [[forward, after, ...more] = [], [turn, backward, last, ...others] = []] = branches
  const isOne = kind === 'concat' && branches.length === 2 && more.length + others.length === 0
  const isTurned = turn?.kind === 'reverse' && forward instanceof CellLayer && backward instanceof CellLayer
  const isLast = after?.kind === 'lastStep' && last?.kind === 'lastStep'
  if (!isOne || !isTurned || !(isLast || (after === undefined && last?.kind === 'reverse'))) return undefined
  const sides: KerasLayer[] = []
  for (const side of [forward, backward]) {
    const [own] = sidesOf(side, await exportedNetwork('Keras', side))
    sides.push(withOptions(own, { return_sequences: !isLast }))
  }
  return bothSides(sides[0], sides[1])
}
