import * as canonical from '@cudnn-rnn/canonical'
import * as cells from '@cudnn-rnn/cells'
import * as checkpoint from '@cudnn-rnn/checkpoint'
import * as distributed from '@cudnn-rnn/distributed'
import * as graphs from '@cudnn-rnn/graphs'
import * as interop from '@cudnn-rnn/interop'
import * as layers from '@cudnn-rnn/layers'
import * as tasks from '@cudnn-rnn/layers/tasks'
import * as report from '@cudnn-rnn/rnn/report'
import * as saveable from '@cudnn-rnn/saveable'
import * as train from '@cudnn-rnn/train'
import * as ctc from '@cudnn-rnn/train/ctc'
import { expect, it } from 'vitest'
import * as canonicalSubpath from '../src/canonical.js'
import * as cellsSubpath from '../src/cells.js'
import * as checkpointSubpath from '../src/checkpoint.js'
import * as ctcSubpath from '../src/ctc.js'
import * as distributedSubpath from '../src/distributed.js'
import * as executors from '../src/executors.js'
import * as graphsSubpath from '../src/graphs.js'
import * as rnn from '../src/index.js'
import * as interopSubpath from '../src/interop.js'
import * as layersSubpath from '../src/layers.js'
import * as reportSubpath from '../src/report/index.js'
import * as saveableSubpath from '../src/saveable.js'
import * as tasksSubpath from '../src/tasks.js'
import * as trainSubpath from '../src/train.js'

it('@cudnn-rnn/rnn exports these names, 40 at most', () => {
  expect(Object.keys(rnn).length).toBeLessThanOrEqual(40)
  expect(Object.keys(rnn).sort()).toMatchInlineSnapshot(`
    [
      "Adam",
      "CudnnGRU",
      "CudnnLSTM",
      "CudnnRNNRelu",
      "CudnnRNNTanh",
      "Dataset",
      "RNNParamsSaveable",
      "Saver",
      "Sgd",
      "TrainingCheckpoints",
      "Variable",
      "constantRate",
      "cosineRate",
      "cudnnGRU",
      "cudnnLSTM",
      "dense",
      "dropout",
      "embedding",
      "exportWeights",
      "fit",
      "hasErrorCode",
      "importWeights",
      "inspectBackends",
      "lastStep",
      "latestCheckpoint",
      "layer",
      "layerNorm",
      "loadModel",
      "loadNetwork",
      "modelFromNetwork",
      "openBackend",
      "openCheckpoint",
      "openCommunicator",
      "openModel",
      "openWorkerPool",
      "sequential",
      "serveStreams",
      "tensor",
      "valueAndGrad",
      "writeCheckpoint",
    ]
  `)
})

it('@cudnn-rnn/rnn/executors exports these names', () => {
  expect(Object.keys(executors).sort()).toMatchInlineSnapshot(`
    [
      "BackendUnavailableError",
      "CudnnError",
      "DTYPES",
      "INSTRUCTION_SETS",
      "OPTIMIZER_RULES",
      "Philox",
      "WASM_INSTRUCTION_SETS",
      "inspectCudnn",
      "isBackendTensor",
      "openCpuBackend",
      "openCudnnBackend",
      "openReferenceBackend",
      "openWasmBackend",
    ]
  `)
})

it.each([
  ['canonical', canonicalSubpath, canonical],
  ['cells', cellsSubpath, cells],
  ['checkpoint', checkpointSubpath, checkpoint],
  ['ctc', ctcSubpath, ctc],
  ['distributed', distributedSubpath, distributed],
  ['graphs', graphsSubpath, graphs],
  ['interop', interopSubpath, interop],
  ['layers', layersSubpath, layers],
  ['report', reportSubpath, report],
  ['saveable', saveableSubpath, saveable],
  ['tasks', tasksSubpath, tasks],
  ['train', trainSubpath, train],
])('@cudnn-rnn/rnn/%s has the exports of the package of that name', (_, subpath, whole) => {
  expect({ ...subpath }).toEqual({ ...whole })
})
