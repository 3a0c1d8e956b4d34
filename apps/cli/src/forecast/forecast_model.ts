import { type Backend, type BatchResult, meanSquaredError, type Variable } from '@cudnn-rnn/rnn'
import { Philox } from '@cudnn-rnn/rnn/executors'
import { DenseLayer } from '../dense_layer.js'
import { RecurrentLayer } from '../recurrent_layer.js'
import { TensorScope } from '../tensor_scope.js'

export interface ForecastModelSizes {
  readonly cell: 'lstm' | 'gru'
  readonly numLayers: number
  readonly numUnits: number
  /** Drop probability between layers. */
  readonly dropout: number
}

type FloatTensor = { readonly data: Float32Array; readonly shape: readonly number[] }

/** Initial values of the output layer draw from a stream of their own. */
const OUTPUT_STREAM = 3

/** CudnnLSTM or CudnnGRU → linear on the last state: all steps ahead at once. */
export class ForecastModel {
  readonly recurrent: RecurrentLayer
  readonly #output: DenseLayer
  readonly #numLayers: number

  constructor(backend: Backend, sizes: ForecastModelSizes, io: { inputSize: number; horizon: number }, seed: number) {
    const { cell, numLayers, numUnits, dropout } = sizes
    this.#numLayers = numLayers
    const options = { numLayers, numUnits, inputSize: io.inputSize, inputMode: 'linear_input', dropout, seed } as const
    this.recurrent = new RecurrentLayer(backend, cell, options)
    this.#output = new DenseLayer(backend, 'output', [numUnits, io.horizon], new Philox(seed, OUTPUT_STREAM))
  }

  /** Everything that is trained. */
  get variables(): readonly Variable[] {
    return [this.recurrent.params, ...this.#output.variables]
  }

  /** Mean squared error of inputs [W,B,I] against targets [B,horizon], with its gradients in the variables' order. */
  async batchGradients(inputs: FloatTensor, targets: FloatTensor): Promise<BatchResult> {
    const scope = new TensorScope()
    try {
      const { outputH, tape, output, outputC } = await this.recurrent.call(inputs, { isTraining: true })
      scope.ownAll({ outputH, output, outputC, tape })
      const outputs = scope.own(this.#output.call(outputH))
      const { data, shape } = await outputs.read()
      const { loss, gradients } = meanSquaredError(
        { data: data as Float32Array, shape },
        this.#forEveryLayer(targets),
        this.#lastLayerOnly(shape),
      )
      const top = this.#output.gradients(outputH, gradients.predictions)
      scope.own(top.input)
      const bottom = await this.recurrent.gradients(tape!, { outputH: top.input })
      scope.ownAll({ ...bottom, params: undefined })
      return { loss, gradients: [bottom.params, top.kernel, top.bias] }
    } finally {
      scope.dispose()
    }
  }

  /** Scaled forecasts for inputs [W,B,I]: [horizon] for each of the B rows. */
  async predict(inputs: FloatTensor): Promise<Float32Array[]> {
    const scope = new TensorScope()
    try {
      const pass = scope.ownAll(await this.recurrent.call(inputs, { isTraining: false }))
      const { data, shape } = await scope.own(this.#output.call(pass.outputH)).read()
      const [layers, batch, horizon] = shape as [number, number, number]
      const row = (b: number) => ((layers - 1) * batch + b) * horizon
      return Array.from({ length: batch }, (_, b) => (data as Float32Array).slice(row(b), row(b) + horizon))
    } finally {
      scope.dispose()
    }
  }

  dispose(): void {
    this.recurrent.dispose()
    this.#output.dispose()
  }

  // outputH [L,B,H] holds the last state of every layer. The output layer sees all of them, and only the last one's rows
  // weigh in the loss: that keeps the choice out of the executor.
  #forEveryLayer({ data, shape }: FloatTensor): FloatTensor {
    const repeated = new Float32Array(this.#numLayers * data.length)
    for (let layer = 0; layer < this.#numLayers; layer++) repeated.set(data, layer * data.length)
    return { data: repeated, shape: [this.#numLayers, ...shape] }
  }

  #lastLayerOnly(shape: readonly number[]): FloatTensor {
    const perLayer = shape[1]! * shape[2]!
    const data = new Float32Array(this.#numLayers * perLayer)
    data.fill(1, (this.#numLayers - 1) * perLayer)
    return { data, shape }
  }
}
