import {
  Dtln,
  denoise,
  FRAME,
  SAMPLE_RATE,
  SHIFT,
  SileroVad,
  speechProbabilities,
  speechSegments,
  wavFile,
} from '@cudnn-rnn/pretrained'
import type { Backend } from '@cudnn-rnn/rnn'
import type { Task } from '../worker/work.js'
import type { SpeechModel } from './file_kind.js'
import type { SpeechMessage } from './speech_messages.js'

type SpeechTask = Task<SpeechMessage>

/** Milliseconds of computing between two reports; a stop takes effect at a report. */
const REPORT_INTERVAL = 50

const OPEN = { silero: SileroVad, dtln: Dtln } as const

/** Speech models in a worker: their files, and recordings run through them. */
export class SpeechProcessor {
  readonly #backend: Backend
  readonly #files = new Map<SpeechModel, File>()

  constructor(backend: Backend) {
    this.#backend = backend
  }

  /** Reads a model's file once, so that another file is refused here. Every recording then begins with a new model. */
  async open(model: SpeechModel, file: File, { post }: SpeechTask): Promise<void> {
    const opened = await OPEN[model].open(this.#backend, file)
    opened.dispose()
    this.#files.set(model, file)
    post({ kind: 'opened', model, name: file.name })
  }

  /** Marks speech and takes out noise, as far as the models for it were opened. */
  async process(samples: Float32Array, name: string, task: SpeechTask): Promise<void> {
    const began = performance.now()
    await this.#detect(samples, task)
    await this.#denoise(samples, name, task)
    task.post({ kind: 'finished', seconds: (performance.now() - began) / 1000 })
  }

  async #detect(samples: Float32Array, task: SpeechTask): Promise<void> {
    const file = this.#files.get('silero')
    if (file === undefined) return
    using model = disposable(await SileroVad.open(this.#backend, file))
    const frames = Math.floor(samples.length / FRAME)
    const found = await speechProbabilities(model.value, samples, reporting('silero', frames, task))
    const segments = speechSegments(found, FRAME / SAMPLE_RATE)
    task.post({ kind: 'detected', probabilities: Float32Array.from(found), segments })
  }

  async #denoise(samples: Float32Array, name: string, task: SpeechTask): Promise<void> {
    const file = this.#files.get('dtln')
    if (file === undefined) return
    using model = disposable(await Dtln.open(this.#backend, file))
    const clean = await denoise(model.value, samples, reporting('dtln', Math.ceil(samples.length / SHIFT), task))
    const title = `${name.replace(/\.\w+$/, '')}-denoised.wav`
    task.post({ kind: 'denoised', samples: clean, file: new File([wavFile(clean)], title, { type: 'audio/wav' }) })
  }
}

/** A step of a model that reports the share of `frames` and ends when the task is stopped. */
function reporting(model: SpeechModel, frames: number, { signal, post, breathe }: SpeechTask) {
  let done = 0
  let reported = Number.NEGATIVE_INFINITY
  return async <Result>(compute: () => Promise<Result>): Promise<Result> => {
    if (performance.now() - reported > REPORT_INTERVAL) {
      post({ kind: 'progress', model, share: Math.min(1, done / frames) })
      await breathe()
      signal.throwIfAborted()
      reported = performance.now()
    }
    done += 1
    return compute()
  }
}

function disposable<Model extends { dispose(): void }>(value: Model) {
  return { value, [Symbol.dispose]: () => value.dispose() }
}
