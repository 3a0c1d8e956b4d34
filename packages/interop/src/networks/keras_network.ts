import { required, zerosLike } from '@cudnn-rnn/canonical/rules'
import {
  type CanonicalParams,
  createRnnDescriptor,
  kerasToCanonical,
  type NamedTensors,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import type { StoredTensor } from '../stored_tensor.js'
import { cellsOf, type OtherActivations } from './imported_cells.js'
import type { ImportedNetwork, Interpretation } from './interpretation.js'
import { sizesInWords } from './made_interpretations.js'
import type { KerasFunction } from './keras_function.js'
import { readGroups } from './tensor_groups.js'

export type CellVariables = ReadonlyMap<string, StoredTensor>

export interface KerasLayerFunction extends Omit<KerasFunction, 'activations'> {
  /** Each direction's; undefined if all are the model's. */
  readonly activations?: readonly OtherActivations[]
}

/** Properties of a network besides its cell's function. */
export interface KerasNetwork extends Pick<ImportedNetwork, 'name' | 'reverse' | 'notes'> {
  /** The variables of one direction or of two. */
  readonly directions: readonly CellVariables[]
  readonly outputReversed: boolean
}

export const NO_BIAS = 'Biases are absent and were taken as zeros.'

/** One layer's network, or the cells of one that no model computes. */
export function networkInterpretation(
  { cellMode, variant, resetBefore, activations }: KerasLayerFunction,
  { name, directions, reverse, outputReversed, notes }: KerasNetwork,
): Interpretation {
  const [variables] = directions
  const rowsOf = (name: string) =>
    required(variables?.get(name)?.shape[0], `a recognized layer has the variable ${name}`)
  const descriptor = createRnnDescriptor({
    cellMode,
    numLayers: 1,
    numUnits: rowsOf('recurrent_kernel'),
    inputSize: rowsOf('kernel'),
    inputMode: 'linear_input',
    direction: directions.length === 2 ? 'bidirectional' : 'unidirectional',
  })
  const convention = variant === 'cudnn' ? 'keras-cudnn' : 'keras'
  const tensors = directions.flatMap((own) => [...own.values()])
  const layout = variant === 'cudnn' ? ', in CuDNN layers’ layout' : resetBefore ? ', reset_after=False' : ''
  const others = activations?.some((each) => Object.keys(each).length > 0) === true ? activations : undefined
  return {
    name,
    convention,
    cellMode,
    summary: `${sizesInWords('keras', descriptor)}${layout}${others === undefined ? '' : `, ${activationsInWords(others)}`}`,
    tensors,
    result: async () => {
      const groups = await readGroups(directions)
      const common = {
        name,
        convention,
        reverse,
        ...(outputReversed && { outputReversed }),
        inputs: {},
        tensorNames: tensors.map((tensor) => tensor.name),
        notes,
      } as const
      const canonical = resetBefore
        ? resetBeforeCanonical(descriptor, groups)
        : kerasToCanonical(descriptor, groups, { variant })
      if (!resetBefore && others === undefined) return [{ ...common, descriptor, canonical }]
      const differences = { resetBefore, peepholes: undefined, clip: undefined, activations: others }
      return cellsOf(descriptor, canonical, differences, common)
    },
  }
}

function activationsInWords(directions: readonly OtherActivations[]): string {
  const words = directions.flatMap((each) => {
    return Object.entries(each).map(([option, f]) => `${option} ${typeof f === 'string' ? f : f.name}`)
  })
  return [...new Set(words)].join(', ')
}

/** The layout of both GRUs is the same except for the bias: [3H], which takes the place of the input-side one. */
function resetBeforeCanonical(descriptor: RnnDescriptor, groups: readonly NamedTensors[]): CanonicalParams {
  const both = groups.map(({ bias, ...kernels }) => {
    if (bias === undefined) return kernels
    const data = zerosLike(bias.data, 2 * bias.data.length)
    data.set(bias.data)
    return { ...kernels, bias: { data, shape: [2, bias.data.length] } }
  })
  return kerasToCanonical(descriptor, both)
}
