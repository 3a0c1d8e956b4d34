import {
  checkArguments,
  FILE_PATH,
  invalidOption,
  OBJECT,
  type OptionsOf,
  optional,
  recordOf,
} from '@cudnn-rnn/canonical/rules'
import type { FileStore } from '@cudnn-rnn/checkpoint'
import { type NumericTensor, Saver } from '@cudnn-rnn/saveable'
import type { Layer } from '../layer.js'
import type { Loss } from '../training/losses.js'
import { RecurrentLayer, type RecurrentModel } from '../kinds/recurrent.js'
import { STORE } from '../training/training_checkpoints.js'
import { saveablesOf, savedOnly } from './variable_saveables.js'
import type { WholeModel } from './whole_model.js'

/** The key of a model's description in its checkpoint: JSON in UTF-8. */
export const MODEL_KEY = 'model_config'

/** Version of the description; a change of its form changes the number. */
export const MODEL_FORMAT = 1

/** The description of a model, to be saved beside its variables. */
export function modelNote({ definition }: Layer, loss: Loss | undefined): Readonly<Record<string, NumericTensor>> {
  const description = { format: MODEL_FORMAT, ...definition.config, ...(loss !== undefined && { loss }) }
  const data = new TextEncoder().encode(JSON.stringify(description))
  return { [MODEL_KEY]: { data, shape: [data.length] } }
}

/** The models of a model's recurrent layers: they save their buffers. */
export function recurrentModels({ layers }: WholeModel): RecurrentModel[] {
  return allLayers(layers).flatMap((layer) => (layer instanceof RecurrentLayer ? [layer.model] : []))
}

/** Layers, with those that they are made of. */
function allLayers(layers: readonly Layer[]): Layer[] {
  return layers.flatMap((layer) => [layer, ...allLayers(layer.parts)])
}

/** Checkpoints are named without an extension. */
export const OTHER_FILE = /\.(?:onnx|keras|h5|hdf5|pt|pth|safetensors|npz|msgpack|tflite|pb|json)$/i

/** Throws TypeError `ERR_INVALID_ARGUMENT`; RangeError `ERR_INVALID_OPTION`, also for a name that `loadModel` refuses. */
export function checkSavePath(path: string): void {
  const action = 'save a model'
  checkArguments(action, { path }, { path: FILE_PATH })
  const rule = "the name of a checkpoint, without extension (export('keras') and export('onnx') make other files)"
  if (OTHER_FILE.test(path)) throw invalidOption(action, 'path', rule, path)
}

export const SAVE_OPTIONS = {
  /** More tensors, by separate names: a vocabulary, scales. `openCheckpoint(path)` reads them. */
  notes: optional<Readonly<Record<string, NumericTensor>>>(recordOf(OBJECT)),
  /** A folder outside the system's files, such as one of a browser; the path is then a name in it. */
  store: optional<FileStore>(STORE),
}

export interface SaveModelOptions extends OptionsOf<typeof SAVE_OPTIONS> {}

/** `LayersModel.save` */
export async function saveModel(
  model: WholeModel,
  path: string,
  { notes = {}, store }: SaveModelOptions,
): Promise<void> {
  const all = { ...notes, ...modelNote(model, model.loss) }
  const variables = saveablesOf(model.executor, model.variables, recurrentModels(model))
  const saved = Object.entries(all).map(([name, tensor]) => savedOnly(name, tensor))
  await new Saver([...variables, ...saved], { maxToKeep: 0, store }).save(path)
}
