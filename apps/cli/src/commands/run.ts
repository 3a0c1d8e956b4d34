import { createRequire } from 'node:module'
import { join } from 'node:path'
import { elementCount, numberOfText } from '@cudnn-rnn/canonical/rules'
import { readRegularFile } from '@cudnn-rnn/checkpoint/files'
import { type OnnxRuntime, openGraph } from '@cudnn-rnn/rnn/graphs'
import { textDataset } from '@cudnn-rnn/rnn/train'
import { type Command, InvalidArgumentError } from 'commander'
import { codedRangeError } from '../coded_error.js'
import { delimiterOf } from '../csv_delimiter.js'
import { csvField } from '../csv_field.js'
import { integerAtLeast } from '../number_options.js'

interface RunCommandOptions {
  readonly wav?: string
  readonly csv?: string
  readonly fix?: Readonly<Record<string, number>>
  readonly state?: Readonly<Record<string, string>>
  readonly stateless?: boolean
  readonly hop?: number
}

export function addRunCommand(program: Command): void {
  program
    .command('run')
    .description('stream a recording or rows of numbers through an ONNX model and print its outputs as CSV')
    .argument('<model>', 'an ONNX file; ONNX Runtime must be installed: npm install onnxruntime-node')
    .option('--wav <file>', 'a WAV file: each step takes as many samples as the input has numbers')
    .option('--csv <file>', 'a CSV file: each row of numbers is a step')
    .option('--hop <n>', 'samples from one step to the next, if steps overlap', integerAtLeast(1))
    .option('--fix <name=number>', 'fix an input or an open size to a number; may be repeated', fixed)
    .option(
      '--state <input=output>',
      'pair an input and an output as a state, if their names do not; may be repeated',
      named,
    )
    .option('--stateless', 'do not carry states from step to step')
    .action(runModel)
}

function named(text: string, before: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const [name, value, ...rest] = text.split('=')
  if (!name || !value || rest.length > 0) throw new InvalidArgumentError('It must have the form name=value.')
  return { ...before, [name]: value }
}

function fixed(text: string, before: Readonly<Record<string, number>> = {}): Readonly<Record<string, number>> {
  const [[name = '', value] = []] = Object.entries(named(text))
  const number = numberOfText(value ?? '')
  if (Number.isNaN(number)) throw new InvalidArgumentError('It must have the form name=number.')
  return { ...before, [name]: number }
}

async function runModel(path: string, { wav, csv, hop, fix = {}, state, stateless }: RunCommandOptions): Promise<void> {
  if ((wav === undefined) === (csv === undefined))
    throw codedRangeError('ERR_RUN_INPUT', 'Cannot run a model as one of --wav and --csv must be given')
  const states = stateless ? 'none' : (state ?? 'auto')
  using graph = await openGraph(path, { ort: onnxRuntime(), fixed: fix, states })
  const [input, ...others] = graph.inputs
  const shape = input?.shape.map((size, axis) => (typeof size === 'string' && axis === 0 ? 1 : size)) ?? []
  const open = [...others.map(({ name }) => name), ...shape.filter((size) => typeof size === 'string')]
  if (input === undefined || open.length > 0) {
    const rule = `one input must be left, of one size: fix ${open.join(', ')} by --fix name=number`
    throw codedRangeError('ERR_RUN_INPUT', `Cannot run a model as ${rule}`)
  }
  const sizes = shape as number[]
  const size = elementCount(sizes)
  const steps = wav === undefined ? rowsOf(csv ?? '', size) : framesOf(wav, size, hop ?? size)
  const stream = stateless ? graph : graph.stream()
  let step = 0
  for await (const data of steps) {
    const results = Object.entries(await stream.run({ [input.name]: { data, shape: sizes } }))
    if (step === 0) process.stdout.write(`step,${results.flatMap(([name, { data }]) => columns(name, data.length))}\n`)
    process.stdout.write(`${step++},${results.flatMap(([, { data }]) => Array.from<unknown>(data)).join()}\n`)
  }
}

function columns(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, k) => csvField(count === 1 ? name : `${name}[${k}]`))
}

/** Frames of a recording; the first ends with its first `hop` samples. */
async function* framesOf(path: string, size: number, hop: number): AsyncGenerator<Float32Array> {
  const bytes = await readRegularFile(path).catch((cause: Error) => {
    const message = `Cannot read ${path} as it must be a WAV file: ${cause.message}`
    throw codedRangeError('ERR_WAV_FILE', message, { path, cause })
  })
  const samples = wavSamples(path, new Uint8Array(bytes))
  for (let end = hop; end <= samples.length; end += hop) {
    const frame = new Float32Array(size)
    frame.set(samples.subarray(Math.max(0, end - size), end), Math.max(0, size - end))
    yield frame
  }
}

/** Rows of numbers; a header is skipped. */
async function* rowsOf(path: string, size: number): AsyncGenerator<Float32Array> {
  const delimiter = await delimiterOf(path)
  let row = 0
  for await (const line of textDataset(path)) {
    const numbers = line.split(delimiter).map(numberOfText)
    row++
    if (row === 1 && numbers.every(Number.isNaN)) continue
    if (numbers.length === size && !numbers.some(Number.isNaN)) yield Float32Array.from(numbers)
    else if (line.trim() !== '') {
      const rule = `row ${row} must have ${size} numbers: ${line.slice(0, 60)}`
      throw codedRangeError('ERR_RUN_INPUT', `Cannot read ${path} as ${rule}`, { path, row })
    }
  }
}

/** ONNX Runtime of the folder in which the command runs, or of an installation beside this package. */
function onnxRuntime(): OnnxRuntime {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      return createRequire(from)('onnxruntime-node') as OnnxRuntime
    } catch {}
  }
  throw codedRangeError(
    'ERR_RUN_INPUT',
    'Cannot run a model as ONNX Runtime must be installed: npm install onnxruntime-node',
  )
}

/**
 * The samples of a WAV file of 16-bit integers or 32-bit floats in -1..1, its channels mixed to one.
 *
 * @throws RangeError `ERR_WAV_FILE`
 */
function wavSamples(path: string, bytes: Uint8Array): Float32Array {
  const refuse = (rule: string) => codedRangeError('ERR_WAV_FILE', `Cannot read ${path} as ${rule}`, { path })
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = (at: number) => new TextDecoder('latin1').decode(bytes.subarray(at, at + 4))
  if (text(0) !== 'RIFF' || text(8) !== 'WAVE') throw refuse('it must be a WAV file')
  let form: { readonly code: number; readonly channels: number; readonly bits: number } | undefined
  for (let at = 12; at + 8 <= bytes.length; ) {
    const [id, size] = [text(at), view.getUint32(at + 4, true)]
    const begin = at + 8
    if (id === 'fmt ' && begin + 16 <= bytes.length) {
      const extended = view.getUint16(begin, true) === 0xfffe && begin + 26 <= bytes.length
      form = {
        code: view.getUint16(extended ? begin + 24 : begin, true),
        channels: view.getUint16(begin + 2, true),
        bits: view.getUint16(begin + 14, true),
      }
    }
    if (id === 'data' && form !== undefined) {
      const { code, channels, bits } = form
      const isFloat = code === 3 && bits === 32
      if ((!isFloat && !(code === 1 && bits === 16)) || channels === 0)
        throw refuse(`its samples must be 16-bit integers or 32-bit floats: they have format ${code} of ${bits} bits`)
      const width = bits / 8
      const count = Math.floor(Math.min(size, bytes.length - begin) / (width * channels))
      const sampleAt = (place: number) => {
        const offset = begin + place * width
        return isFloat ? view.getFloat32(offset, true) : view.getInt16(offset, true) / 32_768
      }
      return Float32Array.from({ length: count }, (_, k) => {
        let sum = 0
        for (let channel = 0; channel < channels; channel++) sum += sampleAt(k * channels + channel)
        return sum / channels
      })
    }
    // Chunks begin at even places.
    at = begin + size + (size % 2)
  }
  throw refuse('it must have samples')
}
