import {
  type Backend,
  type BackendTensor,
  type BatchResult,
  CudnnLSTM,
  type Tensor,
  type TensorLike,
  type Variable,
} from '@cudnn-rnn/rnn'
import { Philox } from '@cudnn-rnn/rnn/executors'
import type { TokenWindow } from '@cudnn-rnn/rnn/train'
import { DenseLayer, uniformVariable } from '../dense_layer.js'
import { TensorScope } from '../tensor_scope.js'
import { CarriedState } from './carried_state.js'

/** Sizes of a character language model; saved with every run. */
export interface CharModelSizes {
  /** V */
  readonly vocabularySize: number
  readonly embeddingSize: number
  readonly numUnits: number
  readonly numLayers: number
  /** Drop probability between layers. */
  readonly dropout: number
}

/** Initial values of the embedding and the output layer draw from streams of their own. */
const EMBEDDING_STREAM = 2
const OUTPUT_STREAM = 3

/** Embedding → CudnnLSTM → linear → softmax cross-entropy, on any executor. */
export class CharLanguageModel {
  readonly backend: Backend
  readonly sizes: CharModelSizes
  readonly lstm: CudnnLSTM
  readonly embedding: Variable
  readonly params: Variable
  readonly output: DenseLayer

  constructor(backend: Backend, sizes: CharModelSizes, seed: number) {
    const { vocabularySize, embeddingSize, numUnits, numLayers, dropout } = sizes
    this.backend = backend
    this.sizes = sizes
    this.lstm = new CudnnLSTM(backend, {
      numLayers,
      numUnits,
      inputSize: embeddingSize,
      inputMode: 'linear_input',
      dropout,
      seed,
    })
    const shape = [vocabularySize, embeddingSize] as const
    this.embedding = uniformVariable(backend, 'embedding', shape, 0.5, new Philox(seed, EMBEDDING_STREAM))
    // A forget bias of 1 keeps the first gradients alive over a window (Jozefowicz et al. 2015).
    this.params = this.lstm.createParams({ seed, forgetBias: 1, name: 'lstm' })
    this.output = new DenseLayer(backend, 'output', [numUnits, vocabularySize], new Philox(seed, OUTPUT_STREAM))
  }

  /** Everything that is trained. */
  get variables(): readonly Variable[] {
    return [this.embedding, this.params, ...this.output.variables]
  }

  /** A state of zeros for B rows; the caller disposes it. */
  carriedState(batch: number): CarriedState {
    return new CarriedState(this.backend, this.lstm.stateShape(batch))
  }

  /**
   * Cross-entropy of a window in nats, with its gradients in the variables' order; moves `state` on. Nothing is read, so
   * that executors can queue a step as a whole.
   */
  async batchGradients(
    window: TokenWindow,
    state: CarriedState,
  ): Promise<BatchResult & { readonly loss: BackendTensor }> {
    const { ops } = this.backend
    if (window.restarts) state.reset()
    const scope = new TensorScope()
    try {
      const x = scope.own(ops.embedding(this.embedding.value, window.inputs))
      const run = scope.ownAll(await this.lstm.call(x, state.h.value, state.c.value, this.params))
      const logits = scope.own(this.output.call(run.output))
      const { loss, logitsGradient } = scope.ownAll(ops.softmaxCrossEntropy(logits, window.labels))
      const top = this.output.gradients(run.output, logitsGradient)
      scope.own(top.input)
      const bottom = await this.lstm.gradients(run.tape, { output: top.input })
      scope.ownAll({ ...bottom, params: undefined })
      const embedding = ops.embeddingGradient(this.sizes.vocabularySize, window.inputs, bottom.input)
      state.keep(run)
      return { loss: scope.release(loss), gradients: [embedding, bottom.params, top.kernel, top.bias] }
    } finally {
      scope.dispose()
    }
  }

  /** Mean cross-entropy of a window in nats, without dropout and without learning; moves `state` on. */
  async evaluate(window: TokenWindow, state: CarriedState): Promise<number> {
    const { ops } = this.backend
    if (window.restarts) state.reset()
    const scope = new TensorScope()
    try {
      const x = scope.own(ops.embedding(this.embedding.value, window.inputs))
      const options = { isTraining: false } as const
      const run = scope.ownAll(await this.lstm.call(x, state.h.value, state.c.value, this.params, options))
      const logits = scope.own(this.output.call(run.output))
      const { loss } = scope.ownAll(ops.softmaxCrossEntropy(logits, window.labels))
      state.keep(run)
      return scalar(await loss.read())
    } finally {
      scope.dispose()
    }
  }

  /** Logits of the next character after one step of a stream. */
  async logitsOf(hidden: TensorLike): Promise<Float32Array> {
    using logits = this.output.call(hidden)
    return (await logits.read()).data as Float32Array
  }

  dispose(): void {
    for (const variable of this.variables) variable.dispose()
    this.lstm.dispose()
  }
}

function scalar({ data }: Tensor): number {
  return data[0]!
}
