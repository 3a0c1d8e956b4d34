import type { Backend, BackendTensor, BatchResult, Tensor, Variable } from '@cudnn-rnn/rnn'
import { Philox } from '@cudnn-rnn/rnn/executors'
import { padSequences, sparseCrossEntropy } from '@cudnn-rnn/rnn/train'
import { DenseLayer, uniformVariable } from '../dense_layer.js'
import { RecurrentLayer, type RecurrentPass } from '../recurrent_layer.js'
import { TensorScope } from '../tensor_scope.js'
import type { TextExample } from './text_examples.js'

export interface TextClassifierSizes {
  readonly cell: 'lstm' | 'gru'
  /** V */
  readonly vocabularySize: number
  readonly embeddingSize: number
  readonly numUnits: number
  readonly numLayers: number
  /** Drop probability between layers. */
  readonly dropout: number
  readonly classes: number
}

/** Initial values draw from streams of their own. */
const EMBEDDING_STREAM = 2
const OUTPUT_STREAM = 3

/** Embedding → bidirectional CudnnLSTM or CudnnGRU → linear at every step → mean over a text's steps. */
export class TextClassifier {
  readonly recurrent: RecurrentLayer
  readonly #backend: Backend
  readonly #sizes: TextClassifierSizes
  readonly #embedding: Variable
  readonly #output: DenseLayer

  constructor(backend: Backend, sizes: TextClassifierSizes, seed: number) {
    const { cell, vocabularySize, embeddingSize, numUnits, numLayers, dropout, classes } = sizes
    this.#backend = backend
    this.#sizes = sizes
    const shape = [vocabularySize, embeddingSize] as const
    this.#embedding = uniformVariable(backend, 'embedding', shape, 0.5, new Philox(seed, EMBEDDING_STREAM))
    this.recurrent = new RecurrentLayer(backend, cell, {
      ...{ numLayers, numUnits, dropout, seed },
      inputSize: embeddingSize,
      inputMode: 'linear_input',
      direction: 'bidirectional',
    })
    this.#output = new DenseLayer(backend, 'output', [2 * numUnits, classes], new Philox(seed, OUTPUT_STREAM))
  }

  /** Everything that is trained. */
  get variables(): readonly Variable[] {
    return [this.#embedding, this.recurrent.params, ...this.#output.variables]
  }

  /** Mean cross-entropy in nats, with its gradients in the variables' order. */
  async batchGradients(examples: readonly TextExample[]): Promise<BatchResult> {
    const { ops } = this.#backend
    const scope = new TensorScope()
    try {
      const { ids, lengths, pass, stepLogits } = await this.#forward(examples, true, scope)
      const labels = { data: Int32Array.from(examples, ({ label }) => label), shape: [examples.length] }
      const { loss, gradients } = sparseCrossEntropy(meanOverSteps(await stepLogits.read(), lengths), labels)
      const top = this.#output.gradients(pass.output, spreadOverSteps(gradients.logits, lengths, ids.shape[0]!))
      scope.own(top.input)
      const bottom = await this.recurrent.gradients(pass.tape!, { output: top.input })
      scope.ownAll({ ...bottom, params: undefined })
      const embedding = ops.embeddingGradient(this.#sizes.vocabularySize, ids, bottom.input)
      return { loss, gradients: [embedding, bottom.params, top.kernel, top.bias] }
    } finally {
      scope.dispose()
    }
  }

  /** Logits [B,classes]. */
  async logits(examples: readonly TextExample[]): Promise<HostLogits> {
    const scope = new TensorScope()
    try {
      const { lengths, stepLogits } = await this.#forward(examples, false, scope)
      return meanOverSteps(await stepLogits.read(), lengths)
    } finally {
      scope.dispose()
    }
  }

  dispose(): void {
    this.recurrent.dispose()
    this.#embedding.dispose()
    this.#output.dispose()
  }

  async #forward(examples: readonly TextExample[], isTraining: boolean, scope: TensorScope): Promise<Forward> {
    const { tensor: ids, lengths } = padSequences(examples.map(({ ids }) => ({ data: ids, shape: [ids.length] })))
    const x = scope.own(this.#backend.ops.embedding(this.#embedding.value, ids))
    const pass = scope.ownAll(await this.recurrent.call(x, { isTraining, sequenceLengths: lengths }))
    return { ids, lengths, pass, stepLogits: scope.own(this.#output.call(pass.output)) }
  }
}

interface Forward {
  /** [T,B] */
  readonly ids: Tensor<Int32Array>
  /** [B] */
  readonly lengths: Int32Array
  readonly pass: RecurrentPass
  /** [T,B,classes] */
  readonly stepLogits: BackendTensor
}

type HostLogits = { readonly data: Float32Array; readonly shape: readonly [number, number] }

/** Means [B,C] of values [T,B,C] over each row's steps. */
function meanOverSteps({ data, shape }: Tensor, lengths: Int32Array): HostLogits {
  const [, batch, classes] = shape as [number, number, number]
  const mean = new Float32Array(batch * classes)
  for (const [b, length] of lengths.entries()) {
    for (let t = 0; t < length; t++) {
      for (let c = 0; c < classes; c++) mean[b * classes + c]! += data[(t * batch + b) * classes + c]! / length
    }
  }
  return { data: mean, shape: [batch, classes] }
}

/** The gradient of {@link meanOverSteps}: [T,B,C] from [B,C]. */
function spreadOverSteps({ data, shape }: Tensor, lengths: Int32Array, time: number): Tensor<Float32Array> {
  const [batch, classes] = shape as [number, number]
  const spread = new Float32Array(time * batch * classes)
  for (const [b, length] of lengths.entries()) {
    for (let t = 0; t < length; t++) {
      for (let c = 0; c < classes; c++) spread[(t * batch + b) * classes + c] = data[b * classes + c]! / length
    }
  }
  return { data: spread, shape: [time, batch, classes] }
}
