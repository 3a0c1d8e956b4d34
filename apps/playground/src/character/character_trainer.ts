import { elementCount } from '@cudnn-rnn/canonical'
import { MemoryStore } from '@cudnn-rnn/checkpoint'
import {
  type Backend,
  cosineRate,
  cudnnLSTM,
  Dataset,
  dense,
  embedding,
  exportWeights,
  type LayerBatch,
  type LayersModel,
  type StepReport,
  sequential,
} from '@cudnn-rnn/rnn'
import type { RecurrentLayer } from '@cudnn-rnn/rnn/layers'
import { generate, truncatedWindows, Vocabulary } from '@cudnn-rnn/rnn/train'
import type { Task } from '../worker/work.js'
import type { CharacterMessage, CharacterRequest, CharacterSettings, LossPoint } from './character_messages.js'
import { GateTracer } from './gate_activity.js'

type CharacterTask = Task<CharacterMessage>
type Writing = Omit<Extract<CharacterRequest, { kind: 'write' }>, 'kind'>

/** T and B of a window of text. */
const TIME = 50
const BATCH = 16
const EMBEDDING = 32
const PEAK_RATE = 0.005
const WARM_UP_STEPS = 20
const MAXIMUM_NORM = 1
/** Below it a text has no window, or a held-out part too small to measure. */
const SHORTEST_TEXT = 2000
/** Steps between samples and evaluations. */
const SAMPLE_EVERY = 50
const SAMPLE_LENGTH = 160
/** Milliseconds between messages to the page. */
const REPORT_INTERVAL = 100
/** Milliseconds for each character whose gates are watched: eyes follow 25 characters in a second. */
const READING_INTERVAL = 40

/** A character model in a worker: embedding, LSTM, softmax over the characters of a text. */
export class CharacterTrainer {
  readonly #backend: Backend
  #trained: { readonly model: LayersModel; readonly vocabulary: Vocabulary } | undefined

  constructor(backend: Backend) {
    this.#backend = backend
  }

  /** Trains a new model on `text` until its last step or a stop; the model replaces the one before. */
  async train(given: string, { units, layers, steps }: CharacterSettings, task: CharacterTask): Promise<void> {
    const text = given.replaceAll('\r\n', '\n')
    if (text.length < SHORTEST_TEXT) {
      throw new Error(
        `The text must have at least ${SHORTEST_TEXT.toLocaleString('en-US')} characters: it has ${text.length.toLocaleString('en-US')}.`,
      )
    }
    const vocabulary = Vocabulary.of(text)
    const ids = vocabulary.encode(text)
    const boundary = ids.length - Math.min(5000, Math.floor(ids.length / 10))
    const size = vocabulary.symbols.length
    const data = new Dataset(truncatedWindows(ids.subarray(0, boundary), { time: TIME, batch: BATCH })).map(
      ({ inputs, labels, restarts }): LayerBatch => ({ input: inputs, labels, restarts }),
    )
    const warmup = Math.min(WARM_UP_STEPS, Math.floor(steps / 2))
    const learningRate = cosineRate({ peak: PEAK_RATE, steps, warmup, final: PEAK_RATE / 10 })
    const model = sequential(
      this.#backend,
      [
        embedding({ size, units: EMBEDDING, initializer: { uniform: 0.5 } }),
        // A forget bias of 1 keeps the first gradients alive over a window (Jozefowicz et al. 2015).
        cudnnLSTM({ numLayers: layers, numUnits: units, forgetBias: 1, name: 'lstm' }),
        dense({ units: size, name: 'output' }),
      ],
      { seed: 1 },
    )
    this.#trained?.model.dispose()
    this.#trained = { model, vocabulary }
    const parameters = model.variables.reduce((sum, { value }) => sum + elementCount(value.shape), 0)
    task.post({ kind: 'started', backend: this.#backend.reason, parameters, symbols: size, characters: text.length })

    const heldOut = ids.subarray(boundary)
    const losses = new LossReport(task)
    await model.fit(data, {
      loss: 'softmax_cross_entropy',
      learningRate,
      maxSteps: steps,
      clipNorm: MAXIMUM_NORM,
      signal: task.signal,
      evaluate: async () => ({ heldOutBits: await bitsPerCharacter(model, heldOut) }),
      evaluateEvery: SAMPLE_EVERY,
      onStep: async (report) => {
        losses.add(report)
        if (report.step % SAMPLE_EVERY === 0) {
          let sample = ''
          for await (const piece of this.#write({ prompt: 'The ', temperature: 0.6, length: SAMPLE_LENGTH }))
            sample += piece
          task.post({ kind: 'sample', step: report.step, text: sample })
        }
        await task.breathe()
      },
    })
    losses.flush()
  }

  /** Continues a prompt, character by character. */
  async write(writing: Writing, task: CharacterTask): Promise<void> {
    for await (const text of this.#write(writing)) {
      if (task.signal.aborted) return
      task.post({ kind: 'written', text })
      await task.breathe()
    }
  }

  /** The gates of the first layer while the model reads `text`, until its end or a stop. */
  async watch(text: string, task: CharacterTask): Promise<void> {
    const { model, vocabulary } = this.#model()
    const known = [...text].filter((symbol) => vocabulary.symbols.includes(symbol))
    const recurrent = model.layers[1] as RecurrentLayer
    const table = await model.layers[0]?.variables[0]?.value.read()
    const canonical = await recurrent.model.paramsToCanonical(recurrent.variables[0].value)
    const tracer = new GateTracer(canonical, recurrent.model.descriptor.numUnits)
    for (const symbol of known) {
      const [id] = vocabulary.encode(symbol)
      const row = table?.data.subarray(id * EMBEDDING, (id + 1) * EMBEDDING) as Float32Array
      task.post({ kind: 'watched', symbol, activity: tracer.step(row) })
      await new Promise((resolve) => setTimeout(resolve, READING_INTERVAL))
      if (task.signal.aborted) return
    }
  }

  /** The model as files: the recurrent network in a format of another framework, or the whole model as a checkpoint. */
  async save(format: 'checkpoint' | 'safetensors' | 'onnx', task: CharacterTask): Promise<void> {
    const { model } = this.#model()
    task.post({
      kind: 'saved',
      files: format === 'checkpoint' ? await checkpoint(model) : [await network(model, format)],
    })
  }

  async *#write({ prompt, temperature, length }: Writing): AsyncGenerator<string> {
    const { model, vocabulary } = this.#model()
    const known = [...prompt].filter((symbol) => vocabulary.symbols.includes(symbol)).join('')
    const begin = known === '' ? vocabulary.symbols[0] : known
    using stream = model.stream()
    const next = async (id: number) => {
      const { data } = await stream.step({ data: Int32Array.of(id), shape: [1] })
      return data as Float32Array
    }
    yield begin
    const options = {
      prompt: [...vocabulary.encode(begin)],
      temperature,
      length,
      seed: Math.floor(Math.random() * 2 ** 31),
    }
    for await (const id of generate(next, options)) yield vocabulary.decode([id])
  }

  #model() {
    if (this.#trained !== undefined) return this.#trained
    throw new Error('There is no model yet: train one first.')
  }
}

/** The mean negative log2-likelihood of each character after the first. */
async function bitsPerCharacter(model: LayersModel, ids: Int32Array): Promise<number> {
  const time = ids.length - 1
  const input = { data: ids.slice(0, time), shape: [time, 1] }
  const labels = { data: ids.slice(1), shape: [time, 1] }
  const { loss } = await model.evaluate([{ input, labels }], { loss: 'softmax_cross_entropy' })
  return loss / Math.LN2
}

async function checkpoint(model: LayersModel): Promise<File[]> {
  const store = new MemoryStore()
  await model.save('character_model', { store })
  return [...store.files]
    .filter(([name]) => name.startsWith('character_model'))
    .map(([name, bytes]) => new File([new Uint8Array(bytes)], name))
}

async function network(model: LayersModel, format: 'safetensors' | 'onnx'): Promise<File> {
  if (format === 'onnx') return new File([new Uint8Array(await model.export(format))], 'character_model.onnx')
  const recurrent = model.layers[1] as RecurrentLayer
  const canonical = await recurrent.model.paramsToCanonical(recurrent.variables[0].value)
  const { descriptor } = recurrent.model
  const bytes = await exportWeights([{ name: 'lstm', descriptor, canonical }], { format })
  return new File([new Uint8Array(bytes)], `character_lstm.${format}`)
}

/** Collects the losses of steps, so that the page gets a message some times a second. */
class LossReport {
  readonly #task: CharacterTask
  #points: LossPoint[] = []
  #seconds = 0
  #sent = performance.now()

  constructor(task: CharacterTask) {
    this.#task = task
  }

  add({ step, loss, metrics, seconds }: StepReport): void {
    this.#points.push({ step, bits: loss / Math.LN2, heldOutBits: metrics?.['heldOutBits'] })
    this.#seconds += seconds
    if (performance.now() - this.#sent > REPORT_INTERVAL) this.flush()
  }

  flush(): void {
    if (this.#points.length === 0) return
    const charactersPerSecond = (this.#points.length * TIME * BATCH) / this.#seconds
    this.#task.post({ kind: 'losses', points: this.#points, charactersPerSecond })
    this.#points = []
    this.#seconds = 0
    this.#sent = performance.now()
  }
}
