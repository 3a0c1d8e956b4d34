import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Backend, Tensor, Variable } from '@cudnn-rnn/rnn'
import type { Adam } from './adam.js'
import { type CarriedState, CharLanguageModel } from './char_language_model.js'
import { codedRangeError } from './coded_error.js'
import { type RunRecord, writeRunRecord } from './run_record.js'
import { readTensorFile, writeTensorFile } from './tensor_file.js'
import type { TrainingPosition } from './trainer.js'

/** What is saved and restored of a run in training. */
export interface StoredRun {
  readonly directory: string
  readonly backend: Backend
  readonly model: CharLanguageModel
  readonly adam: Adam
  readonly settings: Omit<RunRecord, 'history' | 'dropoutState' | 'carriesState'>
  readonly history: RunRecord['history']
}

type NamedTensors = ReadonlyMap<string, Tensor<Float32Array>>

/**
 * Saves a run. Its tensors lie in a file named for the number of updates, and the record is replaced after it: whatever
 * interrupts a save, the directory holds a whole run, the new one or the one before.
 */
export async function saveRun(run: StoredRun, { step, state }: TrainingPosition): Promise<void> {
  const tensors = new Map<string, Tensor>()
  for (const variable of savedVariables(run)) await collect(tensors, run.model, variable)
  if (state !== null) tensors.set('state/h', await state.h.read()).set('state/c', await state.c.read())
  const dropoutState = Buffer.from(await run.model.lstm.dropoutState()).toString('base64')

  await mkdir(run.directory, { recursive: true })
  await writeTensorFile(join(run.directory, fileName(step)), tensors)
  const { settings, history } = run
  await writeRunRecord(run.directory, { ...settings, history, dropoutState, carriesState: state !== null })
  await removeOtherTensors(run.directory, fileName(step))
}

/** Fills a resumed run with what was saved; returns where it stands. Throws as {@link restoreModel}. */
export async function restoreRun(
  run: StoredRun,
  { dropoutState, carriesState }: Pick<RunRecord, 'dropoutState' | 'carriesState'>,
): Promise<TrainingPosition> {
  const step = updatesDone(run)
  const tensors = await readTensorFile(join(run.directory, fileName(step)))
  for (const variable of savedVariables(run)) await restore(tensors, run.model, variable)
  // The state means something only to the executor that drew the masks, and nothing where none are drawn.
  if (run.settings.sizes.dropout > 0)
    run.model.lstm.restoreDropoutState(Uint8Array.from(Buffer.from(dropoutState, 'base64')))
  const load = (name: string) => run.backend.tensor(named(tensors, name))
  const state: CarriedState = carriesState ? { h: load('state/h'), c: load('state/c') } : null
  return { step, state }
}

/**
 * The trained model of a run; dispose it after use.
 *
 * @throws RangeError `ERR_TENSOR_FILE`, `ERR_MISSING_TENSOR`, `ERR_CANONICAL_SIZE`, `ERR_SHAPE` for damaged files
 */
export async function restoreModel(directory: string, backend: Backend, record: RunRecord): Promise<CharLanguageModel> {
  const tensors = await readTensorFile(join(directory, fileName(updatesDone(record))))
  const model = new CharLanguageModel(backend, record.sizes, record.plan.seed)
  for (const variable of model.variables) await restore(tensors, model, variable)
  return model
}

function fileName(step: number): string {
  return `model-${step}.safetensors`
}

function updatesDone({ history }: Pick<RunRecord, 'history'>): number {
  return history.at(-1)?.step ?? 0
}

function savedVariables({ adam }: StoredRun): Variable[] {
  return adam.slots.flatMap(({ variable, firstMoment, secondMoment }) => [variable, firstMoment, secondMoment])
}

/** Adds a variable's tensors; an opaque buffer is saved canonically, so that any executor can go on with it. */
async function collect(tensors: Map<string, Tensor>, model: CharLanguageModel, { name, value }: Variable) {
  if (value.layout === undefined) {
    tensors.set(name, await value.read())
    return
  }
  const { weights, biases } = await model.lstm.paramsToCanonical(value)
  for (const [index, weight] of weights.entries()) tensors.set(`${name}/weight_${index}`, weight)
  for (const [index, bias] of biases.entries()) tensors.set(`${name}/bias_${index}`, bias)
}

async function restore(tensors: NamedTensors, model: CharLanguageModel, variable: Variable): Promise<void> {
  const { name, value } = variable
  if (value.layout === undefined) {
    variable.assign(named(tensors, name))
    return
  }
  const { canonicalWeightShapes, canonicalBiasShapes } = model.lstm
  const weights = canonicalWeightShapes.map((_, index) => named(tensors, `${name}/weight_${index}`))
  const biases = canonicalBiasShapes.map((_, index) => named(tensors, `${name}/bias_${index}`))
  using opaque = await model.lstm.canonicalToParams(weights, biases)
  variable.assign(opaque)
}

function named(tensors: NamedTensors, name: string): Tensor<Float32Array> {
  const tensor = tensors.get(name)
  if (tensor !== undefined) return tensor
  throw codedRangeError('ERR_MISSING_TENSOR', `Cannot load a run as its file must hold the tensor ${name}`, { name })
}

/** Earlier saves, and what an interrupted save left. */
async function removeOtherTensors(directory: string, current: string): Promise<void> {
  for (const name of await readdir(directory)) {
    if (/^model-\d+\.safetensors(\.tmp)?$/.test(name) && name !== current) await rm(join(directory, name))
  }
}
