import { baselineVersion, requireBaseline } from './baseline_packages.js'
import { onnxRecurrentModel, onnxStepModel } from './onnx_model.js'
import { ungrouped } from './parameter_layouts.js'
import type { LoadedTask, Runner, Task } from './runner.js'

/** What of onnxruntime-node is used. */
interface OnnxRuntime {
  readonly InferenceSession: { create(model: Uint8Array, options: object): Promise<Session> }
  readonly Tensor: new (type: 'float32', data: Float32Array, shape: readonly number[]) => OrtTensor
}

interface Session {
  run(feeds: Readonly<Record<string, OrtTensor>>): Promise<Record<string, OrtTensor>>
  release(): Promise<void>
}

interface OrtTensor {
  readonly data: Float32Array
  readonly dims: readonly number[]
}

/** Plays ONNX Runtime's CPU provider on models built for the workload. */
export async function openOnnxRuntimeRunner(threads: number): Promise<Runner> {
  const ort = requireBaseline<OnnxRuntime>('onnxruntime-node')
  const open = (model: Uint8Array) =>
    ort.InferenceSession.create(model, {
      executionProviders: ['cpu'],
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      logSeverityLevel: 3,
    })
  return {
    version: baselineVersion('onnxruntime-node'),
    detail: 'CPU execution provider, sequential, weights as constants of the model',
    load: async (task) => {
      const { workload, pass, parameters, input } = task
      if (pass === 'streaming') {
        return streaming(ort, await open(onnxStepModel(workload, ungrouped(parameters)[0])), task)
      }
      const session = await open(onnxRecurrentModel(workload, ungrouped(parameters)))
      const x = new ort.Tensor('float32', input, [workload.time, workload.batch, workload.inputSize])
      return {
        run: async () => {
          await session.run({ x })
        },
        results: async () => {
          const { y } = await session.run({ x })
          return { output: { data: y.data, shape: y.dims } }
        },
        release: () => void session.release(),
      }
    },
  }
}

/** One `run` a step; the states that it gives are handed to the next one as they are. */
function streaming(ort: OnnxRuntime, session: Session, { workload, input }: Task): LoadedTask {
  const { cellMode, time, batch, inputSize, numUnits } = workload
  const inputs = Array.from({ length: time }, (_, t) => {
    const step = input.subarray(t * batch * inputSize, (t + 1) * batch * inputSize)
    return new ort.Tensor('float32', step, [1, batch, inputSize])
  })
  const zeros = new ort.Tensor('float32', new Float32Array(batch * numUnits), [1, batch, numUnits])
  const output = new Float32Array(time * batch * numUnits)
  return {
    run: async () => {
      let state: Record<string, OrtTensor> = cellMode === 'lstm' ? { h: zeros, c: zeros } : { h: zeros }
      for (const [t, x] of inputs.entries()) {
        const { y, hNext, cNext } = await session.run({ x, ...state })
        state = cNext === undefined ? { h: hNext } : { h: hNext, c: cNext }
        output.set(y.data, t * batch * numUnits)
      }
    },
    results: async () => ({ output: { data: output, shape: [time, batch, numUnits] } }),
    release: () => void session.release(),
  }
}
