import { type FileHandle, open, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import {
  checkArguments,
  checkOptions,
  FUNCTION,
  integerFrom,
  NUMBER,
  NUMBERS,
  type OptionsOf,
  optional,
  PATH,
  TEXT,
  where,
} from '@cudnn-rnn/canonical/rules'
import {
  crc32c,
  makeDirectory,
  maskCrc,
  double,
  encodeMessage,
  float,
  littleEndianBytes,
} from '@cudnn-rnn/checkpoint/files'
import { histogramOf, type Histogram } from './histogram.js'
import { appendWhole, coded, logError } from './log_error.js'

const ACTION = 'write events'
const STEP = integerFrom(0)
/** Events hold float32. */
const LARGEST = 3.402_823_466_385_288_6e38
const FLOAT = where(
  NUMBER,
  'a number that float32 holds',
  (value: number) => !Number.isFinite(value) || Math.abs(value) <= LARGEST,
)

const OPTIONS = {
  /** The step at which a run resumes: later steps of earlier files are hidden. Default 0. */
  afterStep: optional(STEP),
  /** The wall time in seconds; the clock by default. */
  now: optional<() => number>(FUNCTION),
}

export interface EventFileOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * A TensorBoard event file: `tensorboard --logdir <directory>` shows it while it grows.
 *
 * @example
 * ```ts
 * import { EventFile } from '@cudnn-rnn/rnn/train'
 *
 * const events = await EventFile.create('logs')
 * await events.scalar('loss', 0.5, 1)
 * await events.histogram('kernel', [0.1, -0.2, 0.3], 1)
 * await events.close()
 * console.log(events.path.includes('events.out.tfevents')) // true
 * ```
 */
export class EventFile {
  readonly path: string
  readonly #file: FileHandle
  readonly #now: () => number
  #length = 0

  private constructor(path: string, file: FileHandle, now: () => number) {
    this.path = path
    this.#file = file
    this.#now = now
  }

  /**
   * Begins a new file in `directory`, which is made when it is missing.
   *
   * @throws RangeError `ERR_LOG_IO`, `ERR_INVALID_OPTION`; TypeError `ERR_INVALID_ARGUMENT`, `ERR_INVALID_OPTION_TYPE`,
   *   `ERR_UNKNOWN_OPTION`
   */
  static async create(directory: string, options: EventFileOptions = {}): Promise<EventFile> {
    checkArguments(ACTION, { directory }, { directory: PATH })
    const { afterStep = 0, now = () => Date.now() / 1000 } = checkOptions(ACTION, options, OPTIONS)
    await coded('make', directory, () => makeDirectory(directory))
    const seconds = String(Math.floor(now())).padStart(10, '0')
    const [path, file] = await newFile(join(directory, `events.out.tfevents.${seconds}.${hostname()}.${process.pid}`))
    const events = new EventFile(path, file, now)
    try {
      await events.#append(versionEvent(now()))
      if (afterStep > 0) await events.#append(sessionStartEvent(now(), afterStep + 1))
      return events
    } catch (error) {
      await file.close()
      await rm(path, { force: true })
      throw error
    }
  }

  async scalar(tag: string, value: number, step: number): Promise<void> {
    checkArguments(ACTION, { tag, value, step }, { tag: TEXT, value: FLOAT, step: STEP })
    return this.#append(scalarEvent(this.#now(), step, tag, value))
  }

  /** Values of a tensor, for example a gate's weights; those that are not finite are left out. */
  async histogram(tag: string, values: ArrayLike<number>, step: number): Promise<void> {
    const { values: own } = checkArguments(ACTION, { tag, values, step }, { tag: TEXT, values: NUMBERS, step: STEP })
    return this.#append(histogramEvent(this.#now(), step, tag, histogramOf(own)))
  }

  /** Markdown. */
  async text(tag: string, text: string, step: number): Promise<void> {
    checkArguments(ACTION, { tag, text, step }, { tag: TEXT, text: TEXT, step: STEP })
    return this.#append(textEvent(this.#now(), step, tag, text))
  }

  async close(): Promise<void> {
    await coded('close', this.path, () => this.#file.close())
  }

  async #append(event: Uint8Array): Promise<void> {
    // TensorBoard reads no further than a record that is not whole.
    const record = frameRecord(event)
    await appendWhole(this.path, this.#file, record, this.#length)
    this.#length += record.length
  }
}

/** Creates a file of this name, or of this name and a number if one exists: nothing is written into a file or link of others. */
async function newFile(path: string): Promise<[path: string, file: FileHandle]> {
  for (let number = 0; ; number++) {
    const free = number === 0 ? path : `${path}.${number}`
    try {
      return [free, await open(free, 'ax')]
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw logError('create', free, error)
    }
  }
}

/**
 * Frames one record of a TFRecord file: length (uint64), masked CRC-32C of the length, the bytes, masked CRC-32C of the
 * bytes; all little-endian. Source: tensorflow/core/lib/io/record_writer.h.
 */
function frameRecord(bytes: Uint8Array): Uint8Array {
  const framed = new Uint8Array(bytes.length + 16)
  const view = new DataView(framed.buffer)
  view.setBigUint64(0, BigInt(bytes.length), true)
  view.setUint32(8, maskCrc(crc32c(framed.subarray(0, 8))), true)
  framed.set(bytes, 12)
  view.setUint32(12 + bytes.length, maskCrc(crc32c(bytes)), true)
  return framed
}

/**
 * TensorBoard's messages, field numbers from tensorflow/core/util/event.proto and framework/{summary,tensor}.proto:
 * Event { wall_time 1 double, step 2 int64, file_version 3 string, summary 5, session_log 7 }; Summary { value 1 repeated };
 * Value { tag 1, simple_value 2 float, histo 5, tensor 8, metadata 9 }.
 */
function versionEvent(wallTime: number): Uint8Array {
  return encodeMessage({ 1: double(wallTime), 3: 'brain.Event:2' })
}

/** SessionLog { status 1 (START 1) }: events of this step and later, in earlier files of the run, no longer count. */
function sessionStartEvent(wallTime: number, step: number): Uint8Array {
  return encodeMessage({ 1: double(wallTime), 2: step, 7: encodeMessage({ 1: 1 }) })
}

function scalarEvent(wallTime: number, step: number, tag: string, value: number): Uint8Array {
  return summaryEvent(wallTime, step, tag, { 2: float(value) })
}

/** HistogramProto: min 1, max 2, num 3, sum 4, sum_squares 5, bucket_limit 6 packed, bucket 7 packed. */
function histogramEvent(wallTime: number, step: number, tag: string, histogram: Histogram): Uint8Array {
  const { min, max, num, sum, sumSquares, limits, counts } = histogram
  const packed = (values: readonly number[]) => littleEndianBytes(Float64Array.from(values))
  const numbers = { 1: double(min), 2: double(max), 3: double(num), 4: double(sum), 5: double(sumSquares) }
  return summaryEvent(wallTime, step, tag, { 5: encodeMessage({ ...numbers, 6: packed(limits), 7: packed(counts) }) })
}

/** TensorProto { dtype 1 (DT_STRING 7), tensor_shape 2 (none: a scalar), string_val 8 }, marked for the text plugin. */
function textEvent(wallTime: number, step: number, tag: string, text: string): Uint8Array {
  // SummaryMetadata { plugin_data 1 { plugin_name 1 } }
  const metadata = encodeMessage({ 1: encodeMessage({ 1: 'text' }) })
  return summaryEvent(wallTime, step, tag, { 8: encodeMessage({ 1: 7, 2: encodeMessage({}), 8: text }), 9: metadata })
}

function summaryEvent(wallTime: number, step: number, tag: string, value: Parameters<typeof encodeMessage>[0]) {
  const summary = encodeMessage({ 1: encodeMessage({ 1: tag, ...value }) })
  return encodeMessage({ 1: double(wallTime), 2: step, 5: summary })
}
