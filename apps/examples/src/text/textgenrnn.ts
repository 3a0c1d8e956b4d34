import { type Backend, type BackendTensor, type CudnnLSTM, importWeights } from '@cudnn-rnn/rnn'
import { openWeightFile } from '@cudnn-rnn/rnn/interop'
import { type Dense, dense } from '../dense.js'
import { lstmOf } from '../lstm_stream.js'
import { lstmsOf, weightReader } from '../named_weights.js'
import { readCharacterIds } from './character_ids.js'

/** Characters that the model looks back at. */
const WINDOW = 40
/** Marker before and after every text. */
export const BOUNDARY = '<s>'
const EMBEDDING = 100
const UNITS = 128
/** The features of a character from the three layers. */
const SAID = EMBEDDING + 2 * UNITS
/** 464 characters, and 0 for none. */
const IDS = 465
const EPSILON = 1e-7

interface Layer {
  readonly model: CudnnLSTM
  readonly params: BackendTensor
}

/**
 * textgenrnn: an embedding, two CudnnLSTM layers, attention over the 40 latest characters with the features of
 * each, and a softmax over the next one. Every window starts from a state of zeros.
 */
export class Textgenrnn {
  readonly #ids: ReadonlyMap<string, number>
  readonly #characters: readonly string[]
  readonly #embedding: Float32Array
  readonly #attention: Float32Array
  readonly #output: Dense
  readonly #layers: readonly Layer[]

  private constructor(
    ids: ReadonlyMap<string, number>,
    weights: { embedding: Float32Array; attention: Float32Array; output: Dense },
    layers: readonly Layer[],
  ) {
    this.#ids = ids
    this.#characters = [...ids].reduce<string[]>((list, [character, id]) => {
      list[id] = character
      return list
    }, [])
    this.#embedding = weights.embedding
    this.#attention = weights.attention
    this.#output = weights.output
    this.#layers = layers
  }

  /**
   * @param path `textgenrnn_weights.hdf5` of minimaxir/textgenrnn.
   * @param vocabulary `textgenrnn_vocab.json` of the same.
   * @throws RangeError `ERR_OTHER_MODEL`, `ERR_NOT_A_VOCABULARY`
   */
  static async open(backend: Backend, path: string, vocabulary: string): Promise<Textgenrnn> {
    const ids = await readCharacterIds(vocabulary, IDS - 1)
    const file = await openWeightFile(path)
    try {
      const read = weightReader(file)
      const weights = {
        embedding: await read('embedding/embedding/embeddings:0', [IDS, EMBEDDING]),
        attention: await read('attention/attention/attention_W:0', [SAID, 1]),
        output: {
          kernel: await read('output/output/kernel:0', [SAID, IDS]),
          bias: await read('output/output/bias:0', [IDS]),
        },
      }
      const layers: Layer[] = []
      const networks = lstmsOf(path, (await importWeights(file)).networks, [
        [EMBEDDING, UNITS],
        [UNITS, UNITS],
      ])
      for (const { descriptor, canonical } of networks) {
        const model = lstmOf(backend, descriptor)
        layers.push({ model, params: await model.canonicalToParams(canonical.weights, canonical.biases) })
      }
      return new Textgenrnn(ids, weights, layers)
    } finally {
      await file.close()
    }
  }

  /** Ids of characters; those unknown are left out, as the model was trained. */
  encode(characters: Iterable<string>): number[] {
    return [...characters].flatMap((character) => this.#ids.get(character) ?? [])
  }

  decode(id: number): string {
    return this.#characters[id] ?? ''
  }

  /** Probabilities of the next character after each of these texts, of which the last 40 ids count. */
  async probabilities(texts: readonly (readonly number[])[]): Promise<Float32Array[]> {
    const B = texts.length
    const embedded = new Float32Array(WINDOW * B * EMBEDDING)
    for (const [row, text] of texts.entries()) {
      const ids = text.slice(-WINDOW)
      for (let time = 0; time < WINDOW; time++) {
        // Short texts are padded on the left with id 0, which has a vector too.
        const id = ids[time - (WINDOW - ids.length)] ?? 0
        embedded.set(this.#embedding.subarray(id * EMBEDDING, (id + 1) * EMBEDDING), (time * B + row) * EMBEDDING)
      }
    }
    const parts = [{ data: embedded, width: EMBEDDING }]
    for (const { model, params } of this.#layers) {
      const { data, width } = parts[parts.length - 1]
      const run = await model.call({ data, shape: [WINDOW, B, width] }, null, null, params, { isTraining: false })
      parts.push({ data: Float32Array.from((await run.output.read()).data), width: model.numUnits })
      for (const tensor of [run.output, run.outputH, run.outputC]) tensor.dispose()
    }
    return texts.map((_, row) => this.#attend(parts, row, B))
  }

  dispose(): void {
    for (const { model, params } of this.#layers) {
      params.dispose()
      model.dispose()
    }
  }

  /** The weighted mean over time of the layers' features of a text, and from it the next character. */
  #attend(parts: readonly { readonly data: Float32Array; readonly width: number }[], row: number, B: number) {
    const steps = Array.from({ length: WINDOW }, (_, time) => {
      const said = new Float32Array(this.#attention.length)
      let at = 0
      for (const { data, width } of parts) {
        const start = (time * B + row) * width
        said.set(data.subarray(start, start + width), at)
        at += width
      }
      return said
    })
    const scores = steps.map((said) => said.reduce((sum, value, k) => sum + value * this.#attention[k], 0))
    const most = Math.max(...scores)
    const shares = scores.map((score) => Math.exp(score - most))
    const total = shares.reduce((sum, share) => sum + share, 0) + EPSILON
    const mean = new Float32Array(this.#attention.length)
    for (const [time, said] of steps.entries())
      for (const [k, value] of said.entries()) mean[k] += (value * shares[time]) / total
    return softmax(dense(mean, this.#output, new Float32Array(this.#output.bias.length)))
  }
}

function softmax(logits: Float32Array): Float32Array {
  const most = logits.reduce((largest, value) => Math.max(largest, value), Number.NEGATIVE_INFINITY)
  const exponentials = logits.map((value) => Math.exp(value - most))
  const sum = exponentials.reduce((total, value) => total + value, 0)
  return exponentials.map((value) => value / sum)
}
