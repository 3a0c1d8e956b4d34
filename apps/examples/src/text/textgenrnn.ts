import { lstmLayer, lstmsOf, weightReader } from '@cudnn-rnn/pretrained'
import { type Backend, dense, embedding, importWeights, type LayersModel, sequential } from '@cudnn-rnn/rnn'
import { openWeightFile } from '@cudnn-rnn/rnn/interop'
import { attentionPooling, concat } from '@cudnn-rnn/rnn/layers'
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
/**
 * textgenrnn: an embedding, two CudnnLSTM layers, attention over the 40 latest characters with the features of
 * each, and a softmax over the next one. Every window starts from a state of zeros.
 */
export class Textgenrnn {
  readonly #ids: ReadonlyMap<string, number>
  readonly #characters: readonly string[]
  readonly #model: LayersModel

  private constructor(ids: ReadonlyMap<string, number>, model: LayersModel) {
    this.#ids = ids
    this.#characters = [...ids].reduce<string[]>((list, [character, id]) => {
      list[id] = character
      return list
    }, [])
    this.#model = model
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
      const [first, second] = lstmsOf(path, (await importWeights(file)).networks, [
        [EMBEDDING, UNITS],
        [UNITS, UNITS],
      ])
      const table = await read('embedding/embedding/embeddings:0', [IDS, EMBEDDING])
      const context = await read('attention/attention/attention_W:0', [SAID, 1])
      const kernel = await read('output/output/kernel:0', [SAID, IDS])
      const bias = await read('output/output/bias:0', [IDS])
      const layers = [
        embedding({ size: IDS, units: EMBEDDING, initializer: table }),
        concat([[], [lstmLayer(first), concat([[], lstmLayer(second)])]]),
        attentionPooling({ isLinear: true, contextInitializer: context }),
        dense({ units: IDS, activation: 'softmax', kernelInitializer: kernel, biasInitializer: bias }),
      ]
      return new Textgenrnn(ids, sequential(backend, layers))
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
    // Short texts are padded on the left with id 0, which has a vector too.
    const windows = texts.map((text) => {
      const ids = text.slice(-WINDOW)
      return [...Array<number>(WINDOW - ids.length).fill(0), ...ids]
    })
    const probabilities = await this.#model.predict(windows)
    return probabilities.map(({ data }) => data as Float32Array)
  }

  dispose(): void {
    this.#model.dispose()
  }
}
