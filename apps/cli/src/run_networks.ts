import { join } from 'node:path'
import {
  hasErrorCode,
  importWeights,
  latestCheckpoint,
  type LayersModel,
  openBackend,
  openModel,
  type Tensor,
} from '@cudnn-rnn/rnn'
import { type NetworkToExport, openWeightFile, type WeightFile } from '@cudnn-rnn/rnn/interop'
import { loadForecaster, loadTextClassifier } from '@cudnn-rnn/rnn/tasks'
import { recurrentLayer } from './character/char_language_model.js'
import { restoreModel } from './character/training_run.js'
import { codedRangeError } from './coded_error.js'
import { type RunTask, runTask } from './run_kind.js'

type Reference = Awaited<ReturnType<typeof openBackend>>

/** The models of runs, and the parts of a run that no other framework reads. */
const WHOLE: Readonly<
  Record<RunTask, { readonly missing: string; readonly open: (on: Reference, run: string) => Promise<LayersModel> }>
> = {
  'a character model run': {
    missing: 'the characters of the class ids, which are in run.json',
    open: async (backend, run) => (await restoreModel(run, backend)).model,
  },
  'a classification run': {
    missing: 'the words of the class ids and the names of the classes, which `classify --run` reads from the run',
    open: async (backend, run) => (await loadTextClassifier(backend, run)).model,
  },
  'a forecast run': {
    missing:
      'the linear regressions that the network corrects, the scaling of windows, the calendar and the interval, which `forecast --run` reads from the run',
    open: async (backend, run) => (await loadForecaster(backend, run)).model,
  },
}

/** The parts that an export of a run leaves in the run; undefined for a path that is not one. */
export async function missingOfRun(directory: string): Promise<string | undefined> {
  const task = await runTask(directory)
  return task && WHOLE[task].missing
}

/**
 * The whole model of a run, as `model.export` writes it; undefined for a path that is not a run directory.
 *
 * @throws RangeError `ERR_NO_RUN`, `ERR_NOT_A_CLASSIFIER`, `ERR_NOT_A_FORECASTER` for a run that has saved no model yet
 */
export async function exportOfRun(directory: string, format: 'keras' | 'onnx'): Promise<Uint8Array | undefined> {
  const task = await runTask(directory)
  if (task === undefined) return undefined
  using backend = await openBackend('reference')
  using model = await WHOLE[task].open(backend, directory)
  return await model.export(format)
}

/** The whole model of a file that describes its layers, of Keras or of this project; undefined for other files. */
export async function exportOfModel(path: string, format: 'keras' | 'onnx'): Promise<Uint8Array | undefined> {
  using backend = await openBackend('reference')
  try {
    using model = await openModel(path, { backend })
    return await model.export(format)
  } catch (error) {
    if (hasErrorCode(error, 'ERR_WEIGHTS_ALONE', 'ERR_NO_ONNX_RUNTIME', 'ERR_NOT_A_MODEL')) return undefined
    throw error
  }
}

/**
 * The network of a run of any task with the layers around it; undefined for a path that is not a run directory. A
 * character model is taken as it was saved last, as `sample` does; classifiers and forecasters as they were best.
 *
 * @throws RangeError `ERR_NO_CHECKPOINT` for a run that has saved nothing yet; CheckpointError
 */
export async function networkOfAnyRun(directory: string): Promise<NetworkToExport | undefined> {
  const task = await runTask(directory)
  if (task === undefined) return undefined
  if (task === 'a character model run') return networkOfRun(directory)
  const prefix = (await latestCheckpoint(join(directory, 'best'))) ?? (await latestCheckpoint(directory))
  if (prefix !== null) return networkOfCheckpoint(prefix, task)
  throw codedRangeError(
    'ERR_NO_CHECKPOINT',
    `Cannot export as ${directory}, ${task}, must hold a checkpoint: nothing was saved yet. Continue the run with --resume until it saves`,
    { directory },
  )
}

async function networkOfCheckpoint(prefix: string, task: RunTask): Promise<NetworkToExport> {
  await using file = await openWeightFile(prefix)
  const [network] = (await importWeights(file)).networks
  if (network === undefined) {
    throw codedRangeError('ERR_NO_NETWORK', `Cannot export as ${prefix}, of ${task}, must hold a network`)
  }
  const { name, descriptor, canonical } = network
  const [embedding, kernel, bias] = await Promise.all(
    ['embedding/embeddings', 'output/kernel', 'output/bias'].map((own) => tensorOf(file, own)),
  )
  return {
    name,
    descriptor,
    canonical,
    ...(embedding !== undefined && { embedding }),
    ...(kernel !== undefined && bias !== undefined && { dense: { kernel, bias } }),
  }
}

async function tensorOf(file: WeightFile, name: string): Promise<Tensor<Float32Array> | undefined> {
  const stored = file.tensors.find((tensor) => tensor.name === name)
  return stored && { data: Float32Array.from(await stored.read()), shape: stored.shape }
}

/**
 * The trained character model of a run with the layers around its network: from ids to logits.
 *
 * @throws RangeError `ERR_NO_RUN`
 */
export async function networkOfRun(directory: string): Promise<NetworkToExport> {
  using backend = await openBackend('reference')
  using model = (await restoreModel(directory, backend)).model
  const lstm = recurrentLayer(model)
  const { descriptor, weights, biases } = await lstm.model.paramsToCanonical(lstm.variables[0])
  const read = async (index: number) => copy(await model.variables[index].value.read())
  return {
    name: lstm.name,
    descriptor,
    canonical: { weights, biases },
    embedding: await read(0),
    dense: { kernel: await read(2), bias: await read(3) },
  }
}

/** Also frees the executor's memory. */
function copy({ data, shape }: Tensor): Tensor<Float32Array> {
  return { data: Float32Array.from(data as Float32Array), shape }
}
