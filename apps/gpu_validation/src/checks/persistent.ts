import {
  createRnnDescriptor,
  elementCount,
  numPseudoLayers,
  outputSize,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import { trainingForward } from '@cudnn-rnn/conformance'
import { type CudnnBackendOptions, openCudnnBackend } from '@cudnn-rnn/cudnn'
import { arithmeticOf, persistentShapes } from '@cudnn-rnn/cudnn/validation'
import { type CheckContext, type CheckGroup, distance, wave, withSession } from '../check.js'
import { judged, nameOf, noted, skipped } from '../outcome.js'

/** Sums in another order; rounded products, and gates and gradients that are rounded from step to step. */
const TOLERANCES = { float32: 1e-5, tf32x3: 1e-5, tf32: 1e-2, float16: 1e-2, bfloat16: 6e-2 } as const
const PRECISIONS = ['float32', 'bfloat16', 'tf32', 'tf32x3', 'float16'] as const
const REPEATED = 100

const CELLS = ['lstm', 'gru', 'rnn_tanh', 'rnn_relu'] as const

interface Shape {
  readonly cellMode: (typeof CELLS)[number]
  readonly precision: (typeof PRECISIONS)[number]
  readonly numUnits: number
  readonly batch: number
  readonly time: number
  /** Two layers of two directions, over rows of unequal length. */
  readonly isStacked: boolean
}

/**
 * The smallest networks first: of up to 256 units the blocks are clusters, of more a grid, whose backward has clusters from
 * about 16 rows on; with 256 rows it has several passes a step. For the emulator, which compiles each for seconds, one of each kind.
 */
function* shapes(isQuick: boolean): Generator<Shape> {
  if (isQuick) {
    const sizes = { numUnits: 64, batch: 3, time: 3 }
    yield { cellMode: 'lstm', precision: 'float32', ...sizes, isStacked: false }
    yield { cellMode: 'gru', precision: 'bfloat16', ...sizes, isStacked: true }
    yield { cellMode: 'rnn_tanh', precision: 'bfloat16', ...sizes, numUnits: 320, isStacked: false }
    return
  }
  for (const numUnits of [64, 128, 512, 1024]) {
    for (const batch of [1, 16, 64, 256]) {
      for (const precision of PRECISIONS) {
        for (const cellMode of CELLS) {
          // The cells of one gate have the passes of the others, and more rows take more time.
          if (batch === 256 && cellMode !== 'lstm' && cellMode !== 'gru') continue
          const shape = { cellMode, precision, numUnits, batch, time: 70 }
          yield { ...shape, isStacked: false }
          if (batch === 16) yield { ...shape, isStacked: true }
        }
      }
    }
  }
}

/** Section 16: the executor's own kernels beside cuDNN's: results, repetitions and times. */
export const persistent: CheckGroup = async (context) => {
  const { isQuick, deadline, once, report } = context
  for (const shape of shapes(isQuick)) {
    if (performance.now() > deadline) return
    const { cellMode, precision, numUnits, batch, isStacked } = shape
    const what = `${cellMode} H ${numUnits} B ${batch} ${precision}${isStacked ? ', stacked' : ''}`
    await once(what, async () => {
      try {
        await compared(context, what, shape)
      } catch (error) {
        report(judged('16.1', what, 'no error', nameOf(error), false))
      }
    })
  }
}

/** `linear_input`, as the default of as many inputs as units is `skip_input`, which cuDNN computes. */
function networkOf({ cellMode, numUnits, isStacked }: Shape): RnnDescriptor {
  const sizes = { cellMode, numUnits, inputSize: numUnits, inputMode: 'linear_input' } as const
  return createRnnDescriptor({
    ...sizes,
    numLayers: isStacked ? 2 : 1,
    direction: isStacked ? 'bidirectional' : 'unidirectional',
  })
}

async function compared({ options, isQuick, report }: CheckContext, what: string, shape: Shape): Promise<void> {
  const { precision, batch, time } = shape
  const given = { ...options, precision, graphs: false } as const
  const network = networkOf(shape)
  const arithmetic = arithmeticOf('float32', precision)
  const info = await withSession({ options }, async (session) => session.info)
  const [division] = persistentShapes(network, arithmetic, { time, batch, sequenceLengths: null }, info)
  if (division === undefined) return report(skipped('16.1', what, 'cuDNN computes this network'))
  if (precision !== 'float32' && division.kind === 'float32') {
    return report(skipped('16.1', what, "the kernels are those of 'float32'"))
  }
  const ours = await trained({ ...given, kernels: 'own', algorithm: 'standard' }, shape, isQuick ? 3 : REPEATED)
  const theirs = await trained({ ...given, kernels: 'cudnn', algorithm: 'standard' }, shape, 1)
  const chosen = isQuick
    ? theirs
    : await trained({ ...given, kernels: 'cudnn', algorithm: 'measured' }, shape, REPEATED)
  const distances = Object.fromEntries(
    Object.entries(ours.results).map(([name, values]) => [name, distance(values, theirs.results[name])]),
  )
  const isNear = Object.values(distances).every((one) => one <= TOLERANCES[precision])
  report(judged('16.1', what, `within ${TOLERANCES[precision]} of cuDNN's standard algorithm`, distances, isNear))
  report(judged('16.2', what, 'equal to the bit each time', ours.different, ours.different === 0))
  const { shared, blocks, groups, passes } = division
  const kernels = `${groups} groups of ${blocks} blocks, ${passes} passes a step, clusters share ${shared}`
  const milliseconds = { own: ours.milliseconds, cudnn: chosen.milliseconds }
  report(noted('16.3', `${what}: milliseconds of a training pass`, { ...milliseconds, kernels }))
}

/** Results of the last of `count` training passes, the number of those with others, and the time of one. */
async function trained(options: CudnnBackendOptions, shape: Shape, count: number) {
  await using backend = await openCudnnBackend(options)
  const { cellMode, numUnits, batch, time, isStacked } = shape
  const network = networkOf(shape)
  const rnn = backend.rnn(network)
  const sequenceLengths = isStacked
    ? Int32Array.from({ length: batch }, (_, row) => 1 + ((7 * row + time - 1) % time))
    : null
  const tensor = (scale: number, pace: number, ...shape: number[]) =>
    backend.tensor({ data: Float32Array.from(wave(elementCount(shape), scale, pace)), shape })
  const input = tensor(1, 0.37, time, batch, numUnits)
  const state = tensor(0.5, 0.53, numPseudoLayers(network), batch, numUnits)
  const params = tensor(1 / Math.sqrt(numUnits), 0.77, rnn.paramsSize)
  const dy = tensor(0.7, 0.43, time, batch, outputSize(network))
  const inputC = cellMode === 'lstm' ? state : null
  const pass = async () => {
    const { output, tape } = await trainingForward(rnn, { input, inputH: state, inputC, params, sequenceLengths })
    return { y: output, gradients: await rnn.backward(tape, { output: dy }) }
  }
  let results: Readonly<Record<string, Float32Array>> = {}
  let first: Buffer | undefined
  let different = 0
  for (let n = 0; n < Math.min(count, 10); n++) {
    const { y, gradients } = await pass()
    const read = async (one: typeof y) => (await one.read()).data as Float32Array
    const { input: dx, inputH: dhx, params: dw } = gradients
    results = { y: await read(y), dx: await read(dx), dhx: await read(dhx), dw: await read(dw) }
    const bytes = Buffer.concat(Object.values(results).map((one) => new Uint8Array(one.buffer)))
    first ??= bytes
    different += Number(!bytes.equals(first))
  }
  const begin = performance.now()
  for (let n = 0; n < count; n++) {
    const { gradients } = await pass()
    if (n === count - 1) await gradients.inputH.read()
  }
  return { results, different, milliseconds: (performance.now() - begin) / count }
}
