import {
  CELL_MODES,
  type CellMode,
  createRnnDescriptor,
  type Direction,
  flatLayout,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import { trainingForward } from '@cudnn-rnn/conformance'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import type { Algorithm, Arithmetic, CommandList, DeviceSession } from '@cudnn-rnn/cudnn/validation'
import { type CheckGroup, distance, wave, withSession } from '../check.js'
import { median } from '../median.js'
import { judged, nameOf, noted } from '../outcome.js'
import { RawNetwork, type RawOptions } from '../raw_network.js'

const ALGORITHMS = ['standard', 'persist_static', 'persist_static_small_h'] as const
const MODES = Object.keys(CELL_MODES) as CellMode[]
const STAGES = ['make', 'forward', 'backwardData', 'backwardWeights'] as const

/** Result of each stage of an algorithm: its microseconds, or the name of the status that refused it. */
type Stages = Partial<Record<(typeof STAGES)[number], number | string>>

/** Section 7 and 13: every algorithm × cell × type × units × batch, stage by stage. */
export const algorithms: CheckGroup = (context) =>
  withSession(context, async (session) => {
    const { isQuick, report, deadline, once } = context
    const precisions: readonly Arithmetic['precision'][] = ['float32', 'bfloat16', 'tf32', 'float16', 'float64']
    const units = isQuick ? [16] : [512, 128, 1024, 256, 1536, 64, 192, 384]
    const batches = isQuick ? [2] : [1, 64, 8]
    let asked = 0
    for (const precision of precisions) {
      // The executor tries persistent kernels for one layer only: these cells show what more layers would gain.
      for (const numLayers of precision === 'float32' ? [1, 2] : [1]) {
        for (const numUnits of units) {
          for (const batch of batches) {
            for (const cellMode of ['lstm', 'gru', 'rnn_relu', 'rnn_tanh'] as const) {
              for (const training of [false, true]) {
                if (performance.now() > deadline) {
                  return report({ ...noted('7.1', 'the matrix of algorithms', `cut short after ${asked} cells`) })
                }
                await cell({ cellMode, numLayers, numUnits, batch, precision, training })
                asked++
              }
            }
          }
        }
      }
    }

    async function cell(shape: Cell): Promise<void> {
      const { cellMode, numLayers, numUnits, batch, precision, training } = shape
      const what = `${cellMode} L ${numLayers} H ${numUnits} B ${batch} ${precision} ${training ? 'training' : 'inference'} (µs)`
      const stages: Partial<Record<Algorithm, Stages>> = {}
      // One item for each algorithm: an algorithm that ends the process is then identified, and the others still run.
      for (const algorithm of ALGORITHMS) {
        await once(`${algorithm} ${what}`, async () => {
          stages[algorithm] = await tried(session, { ...sequence(isQuick, numUnits), ...shape, algorithm })
        })
      }
      if (Object.keys(stages).length === 0) return
      const ran = (stage: number | string | undefined) => typeof stage === 'number'
      const holds = ran(stages.standard?.forward) && (!training || ran(stages.standard?.backwardWeights))
      const expected = stages.standard === undefined ? 'an earlier process ran standard' : 'standard works'
      const isJudged = stages.standard !== undefined
      report({ ...judged('7.1', what, expected, stages, holds || !isJudged), ...shape } as never)
    }
  })

/** One network of the matrix. */
type Cell = Pick<RawOptions, 'cellMode' | 'numLayers' | 'numUnits' | 'batch'> & {
  readonly precision: Arithmetic['precision']
  readonly training: boolean
}

const sequence = (isQuick: boolean, numUnits: number) => ({
  numLayers: 1,
  inputSize: numUnits,
  time: isQuick ? 5 : 70,
})

/** Runs one algorithm stage by stage: microseconds of each, or the refusal, after which there is no more. */
async function tried(session: DeviceSession, options: RawOptions): Promise<Stages> {
  const stages: Stages = {}
  let network: RawNetwork | undefined
  let stage: (typeof STAGES)[number] = 'make'
  try {
    const made = await RawNetwork.make(session, options)
    network = made
    await made.prepare()
    stages.make = 0
    stage = 'forward'
    stages.forward = await timed(made, (list) => made.forward(list))
    if (options.training === false) return stages
    stage = 'backwardData'
    // A backward needs its own forward before it; the difference is its time.
    const both = await timed(made, (list) => {
      made.forward(list)
      made.backwardData(list)
    })
    stages.backwardData = both - stages.forward
    stage = 'backwardWeights'
    const all = await timed(made, (list) => made.step(list))
    stages.backwardWeights = all - both
  } catch (error) {
    stages[stage] = nameOf(error)
  } finally {
    network?.dispose()
  }
  return stages
}

/** Microseconds on the device, the median of three after one run for warming up. */
async function timed(network: RawNetwork, add: (list: CommandList) => void): Promise<number> {
  await network.run(add)
  const times: number[] = []
  for (let n = 0; n < 3; n++) times.push(Math.round((await network.time(add)) * 1000))
  return median(times)
}

/**
 * Section 7, last: PERSIST_DYNAMIC, which has crashed for others, for the cell mode in `argument`. Runs in a process of
 * its own.
 */
export const dynamic: CheckGroup = (context) =>
  withSession(context, async (session) => {
    const { isQuick, report, deadline, argument, once } = context
    const cellMode = argument as CellMode
    for (const precision of ['float32', 'float16'] as const) {
      for (const numUnits of isQuick ? [16] : [128, 512, 1024]) {
        for (const batch of isQuick ? [2] : [1, 8, 64]) {
          for (const training of [false, true]) {
            if (performance.now() > deadline) return
            const options: RawOptions = {
              ...{ cellMode, numUnits, batch, precision, training, algorithm: 'persist_dynamic' },
              ...sequence(isQuick, numUnits),
            }
            const what = `persist_dynamic ${cellMode} H ${numUnits} B ${batch} ${precision} ${training ? 'training' : 'inference'} (µs)`
            await once(what, async () => report(noted('7.2', what, await tried(session, options))))
          }
        }
      }
    }
  })

const shapeOf = (numUnits: number, numLayers: number, direction: Direction) =>
  ({ numLayers, numUnits, direction, inputSize: numUnits, inputMode: 'linear_input' }) as const

/** Parameters that are made quickly: a short wave, again and again. */
function repeatedWave(count: number, numUnits: number): Float32Array {
  const short = Float32Array.from(wave(1021, 1 / Math.sqrt(numUnits), 0.77))
  const values = new Float32Array(count)
  for (let at = 0; at < count; at += short.length) values.set(short.subarray(0, count - at), at)
  return values
}

/** Units, layers and direction of networks on both sides of the limits of the persistent kernels, and beyond one layer. */
const FALLBACKS = [
  ...[64, 192, 256, 1024, 1536, 2048].map((units) => [units, 1, 'unidirectional'] as const),
  [512, 2, 'unidirectional'],
  [128, 3, 'unidirectional'],
  [512, 1, 'bidirectional'],
] as const

/**
 * Section 7: the executor with each algorithm as its option. Results are right even if cuDNN refuses at a late stage.
 */
export const fallbacks: CheckGroup = async (context) => {
  const { isQuick, report, deadline, once } = context
  for (const cellMode of MODES) {
    for (const [numUnits, numLayers, direction] of isQuick ? FALLBACKS.slice(0, 1) : FALLBACKS) {
      const descriptor = createRnnDescriptor({ cellMode, ...shapeOf(isQuick ? 16 : numUnits, numLayers, direction) })
      const params = repeatedWave(flatLayout(descriptor).size, numUnits)
      for (const precision of ['float32', 'bfloat16'] as const) {
        if (performance.now() > deadline) return report(noted('7.3', 'fall-backs', 'cut short'))
        const depth = `L ${numLayers}${direction === 'bidirectional' ? ' bidirectional' : ''}`
        const what = `${cellMode} ${depth} H ${numUnits} ${precision}: a training step with each algorithm`
        await once(what, async () => {
          const problems = await problemsOfFallbacks(context, descriptor, params, precision)
          const isRight = Object.keys(problems).length === 0
          const expected = 'right results, of standard where another is refused'
          report(judged('7.3', what, expected, isRight ? 'right results' : problems, isRight))
        })
      }
    }
  }
}

/** Errors of the parameter gradient, by algorithm. */
async function problemsOfFallbacks(
  { options, isQuick, deadline }: Parameters<CheckGroup>[0],
  descriptor: RnnDescriptor,
  values: Float32Array,
  precision: 'float32' | 'bfloat16',
): Promise<Readonly<Record<string, string>>> {
  const problems: Record<string, string> = {}
  const dims = [isQuick ? 5 : 20, 4, descriptor.inputSize]
  const input = { data: Float32Array.from(wave(dims[0] * dims[1] * dims[2], 1)), shape: dims }
  let standard: ArrayLike<number> | undefined
  for (const algorithm of ['standard', 'persist_static', 'persist_static_small_h', 'measured'] as const) {
    if (performance.now() > deadline) return problems
    try {
      await using backend = await openCudnnBackend({ ...options, precision, algorithm })
      const rnn = backend.rnn(descriptor)
      const params = backend.tensor({ data: values, shape: [rnn.paramsSize] })
      const given = { input, inputH: null, inputC: null, params, sequenceLengths: null }
      const { output, tape } = await trainingForward(rnn, given)
      const gradients = await rnn.backward(tape, { output })
      const { data } = await gradients.params.read()
      standard ??= data
      const off = distance(data, standard)
      if (!(off <= (precision === 'float32' ? 1e-4 : 5e-2))) problems[algorithm] = `differs from standard by ${off}`
    } catch (error) {
      problems[algorithm] = nameOf(error)
    }
  }
  return problems
}
