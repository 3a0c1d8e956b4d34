import { WeightFileError } from '../errors.js'
import type { StoredTensor } from '../stored_tensor.js'
import type { WeightFile } from '../weight_file.js'
import type { Interpretation, InterpretationOptions } from './interpretation.js'
import { kerasInterpretations } from './keras_interpretations.js'
import { pytorchInterpretations } from './pytorch_names.js'

/** `numpy.savez(file, *arrays)` names arrays by their places. */
const NAME = /^arr_(\d+)$/

/** The weight lists of one layer by convention; entries after the first two may be absent. */
const LISTS = {
  keras: { names: ['kernel', 'recurrent_kernel', 'bias'], interpretations: kerasInterpretations },
  pytorch: {
    names: ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0'],
    interpretations: pytorchInterpretations,
  },
} as const

/**
 * Arrays without names, such as `model.get_weights()` of Keras or the values of a state dict, when they are the weights of
 * one layer. Which convention they follow is never guessed from their shapes.
 *
 * @throws WeightFileError `ERR_WEIGHTS_AMBIGUOUS` unless the option `convention` names one
 */
export function unnamedInterpretations(file: WeightFile, { convention }: InterpretationOptions): Interpretation[] {
  const places = file.tensors.map((tensor) => ({ tensor, place: NAME.exec(tensor.name)?.[1] }))
  if (places.length < 2 || places.some(({ place }) => place === undefined)) return []
  const arrays = places.sort((a, b) => Number(a.place) - Number(b.place)).map(({ tensor }) => tensor)
  const fitting = Object.values(LISTS).flatMap(({ names, interpretations }) => {
    return arrays.length > names.length
      ? []
      : interpretations(renamed(file, arrays, names)).map((interpretation) => own(interpretation, arrays))
  })
  if (convention !== undefined) return fitting
  if (fitting.length === 0) return []
  const summaries = fitting.map(({ summary }) => summary)
  throw new WeightFileError(
    'ERR_WEIGHTS_AMBIGUOUS',
    `Cannot import weights as arrays without names do not say whose gate order they follow: their shapes fit ${summaries.join('; or ')}; and others may store them so. Name whose they are by the option convention`,
    { path: file.path, interpretations: summaries, decidedBy: ['convention'] },
  )
}

function renamed(file: WeightFile, arrays: readonly StoredTensor[], names: readonly string[]): WeightFile {
  return { ...file, tensors: arrays.map((tensor, index) => ({ ...tensor, name: names[index] ?? tensor.name })) }
}

function own(interpretation: Interpretation, arrays: readonly StoredTensor[]): Interpretation {
  return { ...interpretation, tensors: arrays }
}
