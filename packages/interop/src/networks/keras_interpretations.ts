import { describeValue } from '@cudnn-rnn/canonical'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import type { Interpretation } from './interpretation.js'
import { refusedInterpretation } from './made_interpretations.js'
import { APART, describedLayers, type KerasCell, type KerasLayer } from './keras_description.js'
import { functionOf, type KerasFunction, settingNotes, unlikeDirections } from './keras_function.js'
import { namedKerasInterpretations } from './keras_names.js'
import { NO_BIAS, networkInterpretation } from './keras_network.js'
import { DescribedVariables } from './keras_variables.js'

/**
 * Recurrent layers under Keras's names. In a file that describes its model every layer is read as its own description
 * says; others are read by the names of their variables.
 */
export function kerasInterpretations(file: WeightFile): Interpretation[] {
  const { kerasModel } = file
  if (kerasModel === undefined) return namedKerasInterpretations(file)
  const layers = describedLayers(file.path, kerasModel)
  const variables = new DescribedVariables(file, layers)
  return [
    ...layers.flatMap((layer) => {
      const missing = variables.refusalOf(layer)
      if (missing !== undefined) return refusedLayer(file.path, layer.name, missing, variables.tensorsOf(layer))
      return layer.directions.length === 0 ? [] : layerInterpretations(file, layer, variables)
    }),
    ...variables.undescribed().map(({ name, tensors }) => {
      return refusedLayer(file.path, name, 'the description of the model does not describe it', tensors)
    }),
  ]
}

/** A layer's networks: one, or one for each of stacked cells, and of directions that are apart. */
function layerInterpretations(file: WeightFile, layer: KerasLayer, variables: DescribedVariables): Interpretation[] {
  const { path } = file
  const { name, directions, notes } = layer
  const [first] = directions
  if (layer.mergeMode === APART && layer.refusal === undefined)
    return directions.flatMap((side, k) => {
      const own = {
        ...layer,
        name: `${name}/${k === 0 ? 'forward' : 'backward'}`,
        directions: [side],
        mergeMode: undefined,
      }
      return layerInterpretations(file, own, variables)
    })
  const reason = layer.refusal ?? unlikeDirections(directions, layer.mergeMode)
  const tensors = variables.tensorsOf(layer)
  if (reason !== undefined) return [refusedLayer(path, name, reason, tensors)]
  if (first === undefined) return []
  const own = [...notes, ...settingNotes(first)]
  const goesBackwards = directions.length === 1 && first.config['go_backwards'] === true
  const isStack = first.cells.length > 1
  if (isStack && goesBackwards && notes.some((note) => note.startsWith('The model masks'))) {
    return [refusedLayer(path, name, 'its cells are stacked, go backwards and are masked', tensors)]
  }
  if (!isStack) {
    const cells = directions.flatMap((direction) => direction.cells)
    return [cellInterpretation(file, name, cells, variables, { goesBackwards, notes: own })]
  }
  return first.cells.map((cell, index) => {
    // Later cells are fed in the order in which the first one reads.
    const isReversed = goesBackwards && index === 0
    const chain = index === 0 ? [] : [`Its input is the output of ${name}/${first.cells[index - 1]?.name}.`]
    return cellInterpretation(file, `${name}/${cell.name}`, [cell], variables, {
      goesBackwards: isReversed,
      notes: [...own, ...chain],
    })
  })
}

function cellInterpretation(
  file: WeightFile,
  name: string,
  cells: readonly KerasCell[],
  variables: DescribedVariables,
  { goesBackwards, notes }: { readonly goesBackwards: boolean; readonly notes: readonly string[] },
): Interpretation {
  const { path } = file
  const major = kerasMajor(file)
  const directions = cells.map((cell) => variables.of(cell))
  const tensors = directions.flatMap((own) => [...own.values()])
  const functions = cells.map((cell, side) => functionOf(cell, directions[side]?.get('bias'), major))
  const wrong = functions.find((found) => typeof found === 'string')
  if (typeof wrong === 'string') return refusedLayer(path, name, wrong, tensors)
  const [own, other = own] = functions as readonly KerasFunction[]
  if (own === undefined || other === undefined) return refusedLayer(path, name, 'it has no cells', tensors)
  for (const key of ['cellMode', 'variant', 'resetBefore'] as const) {
    if (own[key] === other[key]) continue
    const words = key === 'resetBefore' ? 'reset_after' : key
    return refusedLayer(path, name, `its directions must be alike: they differ in ${words}`, tensors)
  }
  const shapes = directions.map((each) => each.get('recurrent_kernel')?.shape)
  if (String(shapes[0]) !== String(shapes.at(-1))) {
    return refusedLayer(path, name, `its directions must be alike: they differ in units`, tensors)
  }
  const units = cells[0]?.config['units']
  if (shapes[0]?.[0] !== units || directions[0]?.get('kernel')?.shape.length !== 2) {
    const words = shapes.map((shape) => `[${shape ?? ''}]`).join(' and ')
    return refusedLayer(
      path,
      name,
      `its variables must be those of ${describeValue(units)} units: recurrent kernels are ${words}`,
      tensors,
    )
  }
  const left = cells.findIndex(({ config }, side) => config['use_bias'] === false && directions[side]?.has('bias'))
  if (left >= 0) return refusedLayer(path, name, 'use_bias must be true, as its biases are in the file', tensors)
  const activations = directions.length === 2 ? [own.activations, other.activations] : [own.activations]
  return networkInterpretation(
    { ...own, activations },
    {
      name,
      directions,
      reverse: goesBackwards,
      outputReversed: goesBackwards,
      notes: directions.some((each) => each.has('bias')) ? notes : [...notes, NO_BIAS],
    },
  )
}

/** The version of Keras whose functions a file means: version 2 has version 1's; undefined if a `.keras` does not say. */
export function kerasMajor({ format, kerasVersion }: WeightFile): number | undefined {
  const major = Number.parseInt(kerasVersion ?? '', 10)
  if (major >= 3) return 3
  return Number.isNaN(major) && format === 'keras-archive' ? undefined : 2
}

function refusedLayer(...layer: [path: string, name: string, reason: string, tensors: readonly StoredTensor[]]) {
  return refusedInterpretation(...layer, 'keras')
}
