import { baselineVersion, requireBaseline } from './baseline_packages.js'
import { ungrouped } from './parameter_layouts.js'
import type { LoadedTask, Runner, Task } from './runner.js'

/** What of @tensorflow/tfjs-core is used. */
interface TfCore {
  setBackend(name: string): Promise<boolean>
  ready(): Promise<void>
  tensor(data: Float32Array, shape: readonly number[]): TfTensor
  transpose(tensor: TfTensor, order: readonly number[]): TfTensor
  dispose(tensors: readonly TfTensor[]): void
}

/** What of @tensorflow/tfjs-layers is used. */
interface TfLayers {
  readonly layers: Readonly<Record<'lstm' | 'simpleRNN', (options: object) => TfLayer>>
}

interface TfTensor {
  readonly shape: readonly number[]
  data(): Promise<Float32Array>
  dispose(): void
}

interface TfLayer {
  apply(input: TfTensor): TfTensor
  setWeights(weights: readonly TfTensor[]): void
  dispose(): void
}

const PLAIN = { rnn_relu: 'relu', rnn_tanh: 'tanh' } as const

/** Plays the layers of TensorFlow.js on its CPU or its WASM backend; both have one thread in Node.js. */
export async function openTfjsRunner(backend: 'cpu' | 'wasm'): Promise<Runner> {
  const tf = requireBaseline<TfCore>('@tensorflow/tfjs-core')
  requireBaseline(`@tensorflow/tfjs-backend-${backend}`)
  const { layers } = requireBaseline<TfLayers>('@tensorflow/tfjs-layers')
  // The layers warn about initial weights that setWeights replaces.
  console.warn = () => {}
  await tf.setBackend(backend)
  await tf.ready()
  return {
    version: baselineVersion('@tensorflow/tfjs-core'),
    detail: `tf.layers on the ${backend === 'wasm' ? 'WebAssembly SIMD' : 'JavaScript'} backend; always one thread`,
    load: async (task) => load(tf, layers, task),
  }
}

function load(tf: TfCore, layers: TfLayers['layers'], { workload, parameters, input }: Task): LoadedTask {
  const { cellMode, numUnits, time, batch, inputSize, numLayers } = workload
  if (cellMode === 'gru' || numLayers > 1)
    throw new Error(`Cannot run ${cellMode} of ${numLayers} layers as it is not compared`)
  const options = { units: numUnits, returnSequences: true, kernelInitializer: 'zeros', recurrentInitializer: 'zeros' }
  const layer =
    cellMode === 'lstm'
      ? layers.lstm({ ...options, recurrentActivation: 'sigmoid' })
      : layers.simpleRNN({ ...options, activation: PLAIN[cellMode] })

  // The layers are batch-major.
  const timeMajor = tf.tensor(input, [time, batch, inputSize])
  const x = tf.transpose(timeMajor, [1, 0, 2])
  layer.apply(x).dispose()
  const weights = Object.values(ungrouped(parameters)[0]).map(({ data, shape }) => tf.tensor(data, shape))
  layer.setWeights(weights)
  tf.dispose([timeMajor, ...weights])
  return {
    run: async () => {
      const y = layer.apply(x)
      await y.data()
      y.dispose()
    },
    results: async () => {
      const y = layer.apply(x)
      const turned = tf.transpose(y, [1, 0, 2])
      const output = { data: Float32Array.from(await turned.data()), shape: turned.shape }
      tf.dispose([y, turned])
      return { output }
    },
    release: () => {
      layer.dispose()
      x.dispose()
    },
  }
}
