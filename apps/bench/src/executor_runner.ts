import { required } from '@cudnn-rnn/canonical/rules'
import {
  type Backend,
  type BackendName,
  type BackendTensor,
  type OpenBackendOptions,
  openBackend,
  type Tensor,
  CudnnGRU,
  CudnnLSTM,
  CudnnRNNRelu,
  CudnnRNNTanh,
  type Tape,
} from '@cudnn-rnn/rnn'
import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import { version } from '../package.json'
import type { Precision } from './comparison.js'
import { canonicalGroup, ungrouped } from './parameter_layouts.js'
import type { LoadedTask, Runner, Task } from './runner.js'
import type { TensorRecord } from './tensor_file.js'
import type { Workload } from './workload.js'

/** One of the four models with the states left out, so that all have one signature. */
interface ExecutorModel {
  readonly model: CudnnLSTM | CudnnGRU | CudnnRNNRelu | CudnnRNNTanh
  forward(input: BackendTensor, params: BackendTensor, isTraining: boolean): Promise<ForwardResult>
  backward(tape: Tape, output: BackendTensor): Promise<BackwardResult>
}

interface ForwardResult {
  readonly output: BackendTensor
  readonly tape: Tape | undefined
  /** Everything to dispose. */
  readonly tensors: readonly BackendTensor[]
}

interface BackwardResult {
  readonly input: BackendTensor
  readonly params: BackendTensor
  readonly tensors: readonly BackendTensor[]
}

const CELLLESS = { gru: CudnnGRU, rnn_relu: CudnnRNNRelu, rnn_tanh: CudnnRNNTanh } as const

/** The model of a workload on `backend`. Throws as the models do. */
function executorModel(backend: Backend, workload: Workload): ExecutorModel {
  const { cellMode, numLayers, numUnits, inputSize, bidirectional } = workload
  const options = {
    numLayers,
    numUnits,
    inputSize,
    inputMode: 'linear_input',
    direction: bidirectional ? 'bidirectional' : 'unidirectional',
  } as const
  if (cellMode === 'lstm') {
    const model = new CudnnLSTM(backend, options)
    return {
      model,
      forward: async (input, params, isTraining) => {
        const { output, outputH, outputC, tape } = await model.call(input, null, null, params, { isTraining })
        return { output, tape, tensors: [output, outputH, outputC] }
      },
      backward: async (tape, output) => {
        const { input, inputH, inputC, params } = await model.gradients(tape, { output })
        return { input, params, tensors: [input, inputH, inputC, params] }
      },
    }
  }
  const model = new CELLLESS[cellMode](backend, options)
  return {
    model,
    forward: async (input, params, isTraining) => {
      const { output, outputH, tape } = await model.call(input, null, params, { isTraining })
      return { output, tape, tensors: [output, outputH] }
    },
    backward: async (tape, output) => {
      const { input, inputH, params } = await model.gradients(tape, { output })
      return { input, params, tensors: [input, inputH, params] }
    },
  }
}

/** A loaded network with its operands on the executor. */
interface Loaded {
  readonly network: ExecutorModel
  readonly params: BackendTensor
  readonly input: BackendTensor
  release(): void
}

/** How an executor is opened. */
interface ExecutorConditions {
  readonly threads: number
  readonly precision: Precision
  readonly instructionSet: InstructionSet | undefined
}

const PRECISION_OPTIONS = {
  float32: {},
  bfloat16: { precision: 'bfloat16' },
  int8: { weights: 'int8', activations: 'int8' },
} as const

/** Plays one of our executors through the public models. Throws as `openBackend` does. */
export async function openExecutorRunner(
  name: string,
  { threads, precision, instructionSet }: ExecutorConditions,
): Promise<Runner> {
  // An executor that has only float32 refuses the options: its message states why the series is left out.
  const options = { threads, instructionSet, ...PRECISION_OPTIONS[precision] }
  const backend = await openBackend(name as BackendName, options as OpenBackendOptions)
  return {
    version,
    detail: backend.reason,
    load: (task) => load(backend, task),
  }
}

async function load(backend: Backend, task: Task): Promise<LoadedTask> {
  const { workload, pass, parameters } = task
  const network = executorModel(backend, workload)
  const { weights, biases } = canonicalGroup(ungrouped(parameters)[0])
  const params = await network.model.canonicalToParams(weights, biases)
  const input = backend.tensor({ data: task.input, shape: [workload.time, workload.batch, workload.inputSize] })
  const release = () => {
    for (const part of [params, input, network.model]) part.dispose()
  }
  const loaded = { network, params, input, release }
  if (pass === 'streaming') return streaming(loaded, task)
  return pass === 'training' ? training(loaded, backend, task) : inference(loaded)
}

function inference({ network, params, input, release }: Loaded): LoadedTask {
  /** One forward; `use` sees the output before it is disposed. */
  const pass = async <Used>(use: (output: Tensor) => Used) => {
    const { output, tensors } = await network.forward(input, params, false)
    const used = use(await output.read())
    for (const tensor of tensors) tensor.dispose()
    return used
  }
  return {
    run: () => pass(() => {}),
    results: async () => ({ output: await pass(({ data, shape }) => ({ data: Float32Array.from(data), shape })) }),
    release,
  }
}

function training(
  { network, params, input, release }: Loaded,
  backend: Backend,
  { workload, outputGradient }: Task,
): LoadedTask {
  const columns = (workload.bidirectional ? 2 : 1) * workload.numUnits
  const seed = backend.tensor({ data: outputGradient, shape: [workload.time, workload.batch, columns] })

  /** One forward and backward; `use` sees the results before they are disposed. */
  const pass = async <Used>(
    use: (output: BackendTensor, input: BackendTensor, params: BackendTensor) => Promise<Used>,
  ) => {
    const forward = await network.forward(input, params, true)
    const backward = await network.backward(required(forward.tape, 'a training forward has a tape'), seed)
    const used = await use(forward.output, backward.input, backward.params)
    for (const tensor of [...forward.tensors, ...backward.tensors]) tensor.dispose()
    return used
  }
  return {
    run: async () => {
      await pass(async (...results) => {
        for (const result of results) await result.read()
      })
    },
    results: () =>
      pass(async (output, inputGradient, paramsGradient): Promise<TensorRecord> => {
        const { weights, biases } = await network.model.paramsToCanonical(paramsGradient)
        const named = [
          ['output', await output.read()] as const,
          ['inputGradient', await inputGradient.read()] as const,
          ...weights.map((tensor, k) => [`0/weight_${k}`, tensor] as const),
          ...biases.map((tensor, k) => [`0/bias_${k}`, tensor] as const),
        ]
        // Copies: an executor's memory may be used again once its tensor is disposed.
        return Object.fromEntries(
          named.map(([name, { data, shape }]) => [name, { data: Float32Array.from(data), shape }]),
        )
      }),
    release: () => {
      seed.dispose()
      release()
    },
  }
}

function streaming({ network, params, release }: Loaded, { workload, input }: Task): LoadedTask {
  const { time, batch, inputSize, numUnits } = workload
  const stream = network.model.stream(params, { batch })
  const output = new Float32Array(time * batch * numUnits)
  const step = (data: Float32Array, t: number, columns: number) => ({
    data: data.subarray(t * batch * columns, (t + 1) * batch * columns),
    shape: [batch, columns],
  })
  const steps = Array.from({ length: time }, (_, t) => ({
    input: step(input, t, inputSize),
    output: step(output, t, numUnits),
  }))
  return {
    run: () => {
      stream.reset()
      for (const { input, output } of steps) stream.stepSync(input, output)
    },
    results: async () => ({ output: { data: output, shape: [time, batch, numUnits] } }),
    release: () => {
      stream.dispose()
      release()
    },
  }
}
