import { codedRangeError, describeValue } from '@cudnn-rnn/canonical/rules'
import { readRegularFile } from '@cudnn-rnn/checkpoint/files'
import { lstmLayer, lstmsOf, weightReader } from '@cudnn-rnn/pretrained'
import { type Backend, dense, embedding, importWeights, type LayersModel, sequential } from '@cudnn-rnn/rnn'
import { openWeightFile } from '@cudnn-rnn/rnn/interop'
import { attentionPooling, concat } from '@cudnn-rnn/rnn/layers'

/**
 * A vocabulary file: a JSON object of each character's id, from 1 on.
 *
 * @param most the largest id of the model's vocabulary.
 * @throws RangeError `ERR_NOT_A_VOCABULARY`
 */
export async function readCharacterIds(path: string, most: number): Promise<ReadonlyMap<string, number>> {
  const refuse = (rule: string, found: string) => {
    const message = `Cannot read ${path} as ${rule}: current value is ${found}. Give the file that --help names.`
    return codedRangeError('ERR_NOT_A_VOCABULARY', message, { path })
  }
  const text = String(await readRegularFile(path))
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (cause) {
    throw Object.assign(refuse('a vocabulary must be JSON', JSON.stringify(text.slice(0, 20))), { cause })
  }
  const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  if (!isObject)
    throw refuse('a vocabulary must be an object of ids by characters', JSON.stringify(parsed).slice(0, 20))
  const ids = new Map(Object.entries(parsed as Record<string, unknown>))
  for (const [character, id] of ids) {
    if (Number.isSafeInteger(id) && (id as number) >= 1 && (id as number) <= most) continue
    throw refuse(`ids must be integers in 1..${most}`, `${describeValue(id)} for ${JSON.stringify(character)}`)
  }
  return ids as ReadonlyMap<string, number>
}

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
    await using file = await openWeightFile(path)
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
