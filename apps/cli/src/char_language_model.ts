import { type Backend, type BackendTensor, CudnnLSTM, Philox, type Tensor, Variable } from '@cudnn-rnn/rnn'
import type { Adam } from './adam.js'
import type { Window } from './lanes.js'
import { TensorScope } from './tensor_scope.js'

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

/** The recurrent state carried from window to window; null is zero. */
export type CarriedState = { readonly h: BackendTensor; readonly c: BackendTensor } | null

export interface StepResult {
  /** Mean cross-entropy of the window in nats. */
  readonly loss: number
  /** Global norm of all gradients before clipping. */
  readonly gradientNorm: number
  readonly state: CarriedState
}

/** Gradients longer than this are scaled down to it. */
const MAXIMUM_NORM = 1

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
  readonly kernel: Variable
  readonly bias: Variable

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
    this.embedding = this.#uniform(
      'embedding',
      [vocabularySize, embeddingSize],
      0.5,
      new Philox(seed, EMBEDDING_STREAM),
    )
    // A forget bias of 1 keeps the first gradients alive over a window (Jozefowicz et al. 2015).
    this.params = this.lstm.createParams({ seed, forgetBias: 1, name: 'lstm' })
    const limit = Math.sqrt(6 / (numUnits + vocabularySize))
    this.kernel = this.#uniform('output/kernel', [numUnits, vocabularySize], limit, new Philox(seed, OUTPUT_STREAM))
    this.bias = new Variable(backend, backend.zeros([vocabularySize]), 'output/bias')
  }

  /** Everything that is trained. */
  get variables(): readonly Variable[] {
    return [this.embedding, this.params, this.kernel, this.bias]
  }

  /** Forward, backward and one Adam update on a window; takes over `state` and disposes it. */
  async trainStep(
    window: Window,
    state: CarriedState,
    adam: Adam,
    learningRate: number,
    step: number,
  ): Promise<StepResult> {
    const { ops } = this.backend
    const scope = new TensorScope()
    let next: CarriedState = null
    if (state !== null) scope.ownAll(state)
    try {
      const ids = { data: window.inputs, shape: window.shape }
      const labels = { data: window.labels, shape: window.shape }
      const x = scope.own(ops.embedding(this.embedding.value, ids))
      const run = await this.lstm.call(x, state?.h ?? null, state?.c ?? null, this.params)
      next = { h: run.outputH, c: run.outputC }
      scope.own(run.output)
      scope.own(run.tape)
      const logits = scope.own(ops.linear(run.output, this.kernel.value, this.bias.value))
      const { loss, logitsGradient } = scope.ownAll(ops.softmaxCrossEntropy(logits, labels))
      const top = scope.ownAll(ops.linearGradients(run.output, this.kernel.value, logitsGradient))
      const bottom = scope.ownAll(await this.lstm.gradients(run.tape, { output: top.input }))
      const embedding = scope.own(ops.embeddingGradient(this.sizes.vocabularySize, ids, bottom.input))
      const gradients = [embedding, bottom.params, top.kernel, top.bias]
      const norm = scope.own(ops.clipByGlobalNorm(gradients, MAXIMUM_NORM))
      adam.update(gradients, learningRate, step)
      return {
        loss: scalar(await loss.read()),
        gradientNorm: scalar(await norm.read()),
        state: next,
      }
    } catch (error) {
      disposeState(next)
      throw error
    } finally {
      scope.dispose()
    }
  }

  /** Mean cross-entropy of a window in nats, without dropout and without learning; takes over `state`. */
  async evaluate(
    window: Window,
    state: CarriedState,
  ): Promise<{ readonly loss: number; readonly state: CarriedState }> {
    const { ops } = this.backend
    const scope = new TensorScope()
    let next: CarriedState = null
    if (state !== null) scope.ownAll(state)
    try {
      const x = scope.own(ops.embedding(this.embedding.value, { data: window.inputs, shape: window.shape }))
      const options = { isTraining: false } as const
      const run = await this.lstm.call(x, state?.h ?? null, state?.c ?? null, this.params, options)
      next = { h: run.outputH, c: run.outputC }
      const logits = scope.own(ops.linear(scope.own(run.output), this.kernel.value, this.bias.value))
      const labels = { data: window.labels, shape: window.shape }
      const { loss } = scope.ownAll(ops.softmaxCrossEntropy(logits, labels))
      return { loss: scalar(await loss.read()), state: next }
    } catch (error) {
      disposeState(next)
      throw error
    } finally {
      scope.dispose()
    }
  }

  dispose(): void {
    for (const variable of this.variables) variable.dispose()
    this.lstm.dispose()
  }

  #uniform(name: string, shape: readonly [number, number], limit: number, random: Philox): Variable {
    const data = new Float32Array(shape[0] * shape[1])
    for (let index = 0; index < data.length; index++) data[index] = limit * (2 * random.uniform() - 1)
    return new Variable(this.backend, this.backend.tensor({ data, shape }), name)
  }
}

export function disposeState(state: CarriedState): void {
  state?.h.dispose()
  state?.c.dispose()
}

function scalar({ data }: Tensor): number {
  return data[0]!
}
