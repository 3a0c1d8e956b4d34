import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Backend,
  type BackendTensor,
  type HostTensor,
  RNNParamsSaveable,
  type Saveable,
  Saver,
  TensorSaveable,
  type Variable,
} from '@cudnn-rnn/rnn'
import type { Adam } from './adam.js'
import { type CarriedState, CharLanguageModel, disposeState } from './char_language_model.js'
import { type RunRecord, writeRunRecord } from './run_record.js'
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

/** Two, so that the checkpoint that the record names is there until the record has been replaced. */
const MAX_TO_KEEP = 2

/**
 * Saves a run as the TensorFlow checkpoint `model-<step>`, and the record after it: whatever interrupts a save, the
 * directory holds a whole run, the new one or the one before.
 */
export async function saveRun(run: StoredRun, { step, state }: TrainingPosition): Promise<void> {
  const saveables = trainedSaveables(run)
  saveables.push(savedOnly('global_step', { data: BigInt64Array.of(BigInt(step)), shape: [] }))
  if (state !== null) {
    saveables.push(savedOnly('state/h', await state.h.read()), savedOnly('state/c', await state.c.read()))
  }
  await mkdir(run.directory, { recursive: true })
  const saver = new Saver(saveables, { maxToKeep: MAX_TO_KEEP })
  await saver.save(join(run.directory, 'model'), { globalStep: step })
  const dropoutState = Buffer.from(await run.model.lstm.dropoutState()).toString('base64')
  const { settings, history } = run
  await writeRunRecord(run.directory, { ...settings, history, dropoutState, carriesState: state !== null })
}

/** Fills a resumed run with what was saved; returns where it stands. Throws as {@link restoreModel}. */
export async function restoreRun(
  run: StoredRun,
  { dropoutState, carriesState }: Pick<RunRecord, 'dropoutState' | 'carriesState'>,
): Promise<TrainingPosition> {
  const carried = zeroState(run)
  try {
    const saveables = trainedSaveables(run)
    if (carriesState) saveables.push(stateSaveable('state/h', carried.h, run), stateSaveable('state/c', carried.c, run))
    await new Saver(saveables).restore(prefixOf(run))
  } catch (error) {
    disposeState(carried)
    throw error
  }
  // The state means something only to the executor that drew the masks, and nothing where none are drawn.
  if (run.settings.sizes.dropout > 0)
    run.model.lstm.restoreDropoutState(Uint8Array.from(Buffer.from(dropoutState, 'base64')))
  if (!carriesState) disposeState(carried)
  return { step: updatesDone(run), state: carriesState ? carried : null }
}

/**
 * The trained model of a run; dispose it after use.
 *
 * @throws CheckpointError, RestoreError for a checkpoint that is damaged or another's
 */
export async function restoreModel(directory: string, backend: Backend, record: RunRecord): Promise<CharLanguageModel> {
  const model = new CharLanguageModel(backend, record.sizes, record.plan.seed)
  try {
    await new Saver(saveablesOf(model, model.variables)).restore(prefixOf({ directory, history: record.history }))
    return model
  } catch (error) {
    model.dispose()
    throw error
  }
}

function prefixOf({ directory, history }: Pick<StoredRun, 'directory' | 'history'>): string {
  return join(directory, `model-${updatesDone({ history })}`)
}

function updatesDone({ history }: Pick<RunRecord, 'history'>): number {
  return history.at(-1)?.step ?? 0
}

/** Every variable and its two moments. */
function trainedSaveables({ model, adam }: StoredRun): Saveable[] {
  const variables = adam.slots.flatMap(({ variable, firstMoment, secondMoment }) => [
    variable,
    firstMoment,
    secondMoment,
  ])
  return saveablesOf(model, variables)
}

/** An opaque buffer is saved canonically, so that any executor can go on with it. */
function saveablesOf({ lstm }: CharLanguageModel, variables: readonly Variable[]): Saveable[] {
  return variables.map((variable) =>
    variable.value.layout === undefined
      ? TensorSaveable.of(variable)
      : new RNNParamsSaveable(lstm.paramsToCanonical, lstm.canonicalToParams, [variable], variable.name),
  )
}

function savedOnly(name: string, tensor: HostTensor): Saveable {
  return new TensorSaveable(
    name,
    () => tensor,
    () => undefined,
  )
}

function stateSaveable(name: string, state: BackendTensor, { backend }: StoredRun): Saveable {
  return new TensorSaveable(
    name,
    () => state.read(),
    (tensor) => backend.ops.assign(state, tensor as Parameters<typeof backend.ops.assign>[1]),
  )
}

function zeroState({ backend, settings: { sizes, plan } }: StoredRun): NonNullable<CarriedState> {
  const shape = [sizes.numLayers, plan.batch, sizes.numUnits]
  return { h: backend.zeros(shape), c: backend.zeros(shape) }
}
