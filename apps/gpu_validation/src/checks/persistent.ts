import { createRnnDescriptor, elementCount } from '@cudnn-rnn/canonical'
import { trainingForward } from '@cudnn-rnn/conformance'
import { type CudnnBackendOptions, openCudnnBackend } from '@cudnn-rnn/cudnn'
import { arithmeticOf, persistentShapes } from '@cudnn-rnn/cudnn/validation'
import { type CheckContext, type CheckGroup, distance, wave, withSession } from '../check.js'
import { judged, nameOf, noted, skipped } from '../outcome.js'

/** Sums in another order; rounded products, and gates and gradients that are rounded from step to step. */
const TOLERANCES = { float32: 1e-5, tf32: 1e-2, float16: 1e-2, bfloat16: 6e-2 } as const
const PRECISIONS = ['float32', 'bfloat16', 'tf32', 'float16'] as const
const REPEATED = 100

interface Shape {
  readonly cellMode: 'lstm' | 'gru' | 'rnn_tanh' | 'rnn_relu'
  readonly precision: (typeof PRECISIONS)[number]
  readonly numUnits: number
  readonly batch: number
  readonly time: number
}

/** Section 16: the executor's own kernels beside cuDNN's: results, repetitions and times, the smallest networks first. */
export const persistent: CheckGroup = async (context) => {
  const { isQuick, deadline, once, report } = context
  const sizes = isQuick
    ? [[64, 3]]
    : [64, 128, 512, 1024].flatMap((units) => [1, 16, 64].map((batch) => [units, batch]))
  for (const [numUnits, batch] of sizes) {
    for (const precision of isQuick ? (['float32'] as const) : PRECISIONS) {
      for (const cellMode of isQuick ? (['lstm'] as const) : (['lstm', 'gru', 'rnn_tanh', 'rnn_relu'] as const)) {
        if (performance.now() > deadline) return
        const shape = { cellMode, precision, numUnits, batch, time: isQuick ? 3 : 70 }
        const what = `${cellMode} H ${numUnits} B ${batch} ${precision}`
        await once(what, async () => {
          try {
            await compared(context, what, shape)
          } catch (error) {
            report(judged('16.1', what, 'no error', nameOf(error), false))
          }
        })
      }
    }
  }
}

async function compared({ options, isQuick, report }: CheckContext, what: string, shape: Shape): Promise<void> {
  const { cellMode, precision, numUnits, batch, time } = shape
  const given = { ...options, precision, graphs: false } as const
  const network = createRnnDescriptor({ cellMode, numLayers: 1, numUnits, inputSize: numUnits })
  const arithmetic = arithmeticOf('float32', precision)
  const info = await withSession({ options }, async (session) => session.info)
  if (persistentShapes(network, arithmetic, { time, batch, sequenceLengths: null }, info).length === 0) {
    report(skipped('16.1', what, 'cuDNN computes this network'))
    return
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
  report(
    noted('16.3', `${what}: milliseconds of a training pass`, { own: ours.milliseconds, cudnn: chosen.milliseconds }),
  )
}

/** Results of the last of `count` training passes, the number of those with others, and the time of one. */
async function trained(options: CudnnBackendOptions, shape: Shape, count: number) {
  await using backend = await openCudnnBackend(options)
  const { cellMode, numUnits, batch, time } = shape
  const rnn = backend.rnn(createRnnDescriptor({ cellMode, numLayers: 1, numUnits, inputSize: numUnits }))
  const tensor = (scale: number, pace: number, ...shape: number[]) =>
    backend.tensor({ data: Float32Array.from(wave(elementCount(shape), scale, pace)), shape })
  const input = tensor(1, 0.37, time, batch, numUnits)
  const state = tensor(0.5, 0.53, 1, batch, numUnits)
  const params = tensor(1 / Math.sqrt(numUnits), 0.77, rnn.paramsSize)
  const dy = tensor(0.7, 0.43, time, batch, numUnits)
  const inputC = cellMode === 'lstm' ? state : null
  const pass = async () => {
    const { output, tape } = await trainingForward(rnn, { input, inputH: state, inputC, params, sequenceLengths: null })
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
