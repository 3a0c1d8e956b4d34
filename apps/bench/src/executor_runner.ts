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

const MODELS = { lstm: CudnnLSTM, gru: CudnnGRU, rnn_relu: CudnnRNNRelu, rnn_tanh: CudnnRNNTanh } as const

/** What `call` and `gradients` of the four models have in common: an LSTM takes and gives cell states, too. */
interface AnyModel {
  call(...operands: readonly unknown[]): Promise<{ readonly output: BackendTensor; readonly tape?: Tape }>
  gradients(
    tape: Tape,
    gradients: { readonly output: BackendTensor },
  ): Promise<{ readonly input: BackendTensor; readonly params: BackendTensor }>
}

/** The model of a workload on `backend`. Throws as the models do. */
function executorModel(backend: Backend, workload: Workload) {
  const { cellMode, numLayers, numUnits, inputSize, bidirectional } = workload
  const model = new MODELS[cellMode](backend, {
    ...{ numLayers, numUnits, inputSize, inputMode: 'linear_input' },
    direction: bidirectional ? 'bidirectional' : 'unidirectional',
  })
  const states = cellMode === 'lstm' ? [null, null] : [null]
  const any = model as unknown as AnyModel
  return {
    model,
    forward: (input: BackendTensor, params: BackendTensor, isTraining: boolean) =>
      any.call(input, ...states, params, { isTraining }),
    backward: (tape: Tape, output: BackendTensor) => any.gradients(tape, { output }),
  }
}

interface Loaded {
  readonly network: ReturnType<typeof executorModel>
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
    const { tape: _, ...tensors } = await network.forward(input, params, false)
    const used = use(await tensors.output.read())
    for (const tensor of Object.values(tensors)) tensor.dispose()
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
    const { tape, ...forward } = await network.forward(input, params, true)
    const backward = await network.backward(required(tape, 'a training forward has a tape'), seed)
    const used = await use(forward.output, backward.input, backward.params)
    for (const tensor of [...Object.values(forward), ...Object.values(backward)]) tensor.dispose()
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
