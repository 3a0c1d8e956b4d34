import { onnxProductModel, onnxRecurrentModel } from './onnx_model.js'
import { ungrouped } from './parameter_layouts.js'
import { peerVersion, requirePeer } from './peer_packages.js'
import type { Player } from './player.js'

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
export async function openOnnxRuntimePlayer(threads: number): Promise<Player> {
  const ort = requirePeer<OnnxRuntime>('onnxruntime-node')
  const open = (model: Uint8Array) =>
    ort.InferenceSession.create(model, {
      executionProviders: ['cpu'],
      intraOpNumThreads: threads,
      interOpNumThreads: 1,
      logSeverityLevel: 3,
    })
  return {
    version: peerVersion('onnxruntime-node'),
    detail: 'CPU execution provider, sequential, weights as constants of the model',
    load: async ({ workload, parameters, input }) => {
      const session = await open(onnxRecurrentModel(workload, ungrouped(parameters)))
      const x = new ort.Tensor('float32', input, [workload.time, workload.batch, workload.inputSize])
      return {
        run: async () => {
          await session.run({ x })
        },
        results: async () => {
          const { y } = await session.run({ x })
          return { output: { data: y!.data, shape: y!.dims } }
        },
        release: () => void session.release(),
      }
    },
    product: async (size) => {
      const session = await open(onnxProductModel(size))
      const x = new ort.Tensor('float32', new Float32Array(size * size).fill(1 / size), [size, size])
      return async () => {
        await session.run({ x })
      }
    },
  }
}
