import {
  type Backend,
  type BackendTensor,
  type BatchResult,
  CudnnLSTM,
  type Tensor,
  type Trainable,
  type Variable,
} from '@cudnn-rnn/rnn'
import { ctcBeamSearchDecoder, ctcGreedyDecoder, ctcLoss, type PrefixScorer } from '@cudnn-rnn/rnn/ctc'
import { Philox } from '@cudnn-rnn/rnn/executors'
import { FRAME_SIZE, type LineBatch } from './line_batch.js'
import { ALPHABET, textOf } from './line_texts.js'

const CLASSES = ALPHABET.length + 1

/** A bidirectional CudnnLSTM over the frames of a line, and a dense layer to letters and blank. */
export class LineReader {
  readonly backend: Backend
  readonly lstm: CudnnLSTM
  readonly params: Variable
  readonly kernel: Trainable
  readonly bias: Trainable

  constructor(backend: Backend, { numUnits, numLayers, seed }: { numUnits: number; numLayers: number; seed: number }) {
    this.backend = backend
    this.lstm = new CudnnLSTM(backend, { numLayers, numUnits, inputSize: FRAME_SIZE, direction: 'bidirectional' })
    this.params = this.lstm.createParams({ seed })
    const random = new Philox(seed, 1)
    const limit = Math.sqrt(6 / (2 * numUnits + CLASSES))
    const kernel = Float32Array.from({ length: 2 * numUnits * CLASSES }, () => limit * (2 * random.uniform() - 1))
    this.kernel = { name: 'logits/kernel', value: backend.tensor({ data: kernel, shape: [2 * numUnits, CLASSES] }) }
    this.bias = { name: 'logits/bias', value: backend.zeros([CLASSES]) }
  }

  get variables(): readonly [Variable, Trainable, Trainable] {
    return [this.params, this.kernel, this.bias]
  }

  /** Mean CTC loss of a batch, and its gradient by every variable. */
  async batchGradients({ frames, lengths, labels }: LineBatch): Promise<BatchResult> {
    const { backend, lstm, params, kernel, bias } = this
    const input = backend.tensor(frames)
    const called = await lstm.call(input, null, null, params, { sequenceLengths: lengths })
    const logits = backend.ops.linear(called.output, kernel.value, bias.value)
    const { loss, rowLosses, logitsGradient } = await ctcLoss(backend, { logits, labels, logitLengths: lengths })
    const dense = backend.ops.linearGradients(called.output, kernel.value, logitsGradient)
    const gradients = await lstm.gradients(called.tape, { output: dense.input })
    const { input: ofInput, inputH, inputC } = gradients
    disposeAll([input, called.output, called.outputH, called.outputC, logits, rowLosses, logitsGradient])
    disposeAll([dense.input, ofInput, inputH, inputC])
    return { loss, gradients: [gradients.params, dense.kernel, dense.bias] }
  }

  /** Logits [T,B,K] of a batch, on the host. */
  async logits({ frames, lengths }: LineBatch): Promise<Tensor> {
    const { backend, lstm, params, kernel, bias } = this
    const called = await lstm.call(frames, null, null, params, { sequenceLengths: lengths, isTraining: false })
    const logits = backend.ops.linear(called.output, kernel.value, bias.value)
    const { data, shape } = await logits.read()
    const copy = { data: data.slice(), shape }
    disposeAll([called.output, called.outputH, called.outputC, logits])
    return copy
  }

  /** The texts of a batch, as the likeliest class of each frame spells them. */
  async read(batch: LineBatch): Promise<string[]> {
    return ctcGreedyDecoder(await this.logits(batch), batch.lengths).decoded.map(textOf)
  }

  /** The texts of a batch, by beam search with a language model. */
  async readWith<State>(batch: LineBatch, scorer: PrefixScorer<State>, beamWidth: number): Promise<string[]> {
    const options = { beamWidth, scorer, mergeRepeated: false }
    return ctcBeamSearchDecoder(await this.logits(batch), batch.lengths, options).decoded[0].map(textOf)
  }
}

function disposeAll(tensors: readonly (BackendTensor | undefined)[]): void {
  for (const tensor of tensors) tensor?.dispose()
}
