import { createRnnDescriptor, elementCount } from '@cudnn-rnn/canonical'
import { trainingForward } from '@cudnn-rnn/conformance'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import type { Arithmetic } from '@cudnn-rnn/cudnn/validation'
import { type CheckGroup, distance, wave } from '../check.js'
import { judged, nameOf, skipped } from '../outcome.js'
import { TorchBaseline } from '../torch_baseline.js'

/** Two programs over one library differ by the order of sums; TF32 and the 16-bit types by their mantissas. */
const TOLERANCES = { float32: 1e-5, tf32x3: 1e-5, tf32: 1e-2, float64: 1e-12, float16: 1e-2, bfloat16: 6e-2 } as const

/** Section 5: PyTorch with the same weights on the same GPU, forward and gradients. `argument` names the Python. */
export const parity: CheckGroup = async ({ options, isQuick, report, argument, deadline, once }) => {
  const started = await TorchBaseline.start(argument || undefined)
  if (started.baseline === undefined) return report(skipped('5.1', 'parity with PyTorch', started.problem))
  const { baseline } = started
  const precisions: readonly Arithmetic['precision'][] = ['float32', 'float64', 'tf32', 'float16', 'bfloat16']
  try {
    for (const precision of precisions) {
      for (const cellMode of ['lstm', 'gru', 'rnn_tanh', 'rnn_relu'] as const) {
        for (const [layers, bidirectional, projection] of [
          [1, false, 0],
          [2, true, 0],
          [2, false, 8],
        ] as const) {
          if (performance.now() > deadline) return
          if (projection > 0 && cellMode !== 'lstm') continue
          const sizes = isQuick
            ? { units: 12, inputs: 5, time: 4, batch: 3 }
            : { units: 64, inputs: 40, time: 20, batch: 8 }
          const scale = 1 / Math.sqrt(sizes.units)
          const shape = { cellMode, layers, bidirectional, projection, precision, scale, ...sizes }
          const what = `${cellMode} L ${layers}${bidirectional ? ' bidirectional' : ''}${projection ? ` projected to ${projection}` : ''} ${precision}: y, hy, dx, dw`
          const expected = `within ${TOLERANCES[precision]} of PyTorch`
          await once(what, async () => {
            const left = (deadline - performance.now()) / 1000
            const theirs = await baseline.ask({ action: 'parity', ...shape }, Math.max(1, left))
            if (theirs.error !== undefined) {
              return report(skipped('5.1', what, theirs.error))
            }
            try {
              const ours = await results(options, shape)
              const distances = Object.fromEntries(
                Object.entries(ours).map(([name, values]) => [name, distance(values, numbers(theirs[name]))]),
              )
              const worst = Math.max(...Object.values(distances))
              report(judged('5.1', what, expected, distances, worst <= TOLERANCES[precision]))
            } catch (error) {
              report(judged('5.1', what, expected, nameOf(error), false))
            }
          })
        }
      }
    }
  } finally {
    baseline.close()
  }
}

function numbers(text: unknown): Float64Array {
  const bytes = Buffer.from(String(text), 'base64')
  return new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
}

interface Shape {
  readonly cellMode: 'lstm' | 'gru' | 'rnn_tanh' | 'rnn_relu'
  readonly layers: number
  readonly bidirectional: boolean
  readonly projection: number
  readonly precision: Arithmetic['precision']
  readonly scale: number
  readonly units: number
  readonly inputs: number
  readonly time: number
  readonly batch: number
}

async function results(options: object, shape: Shape): Promise<Record<string, ArrayLike<number>>> {
  const { cellMode, layers, bidirectional, projection, precision, scale, units, inputs, time, batch } = shape
  const isDouble = precision === 'float64'
  await using backend = await openCudnnBackend({
    ...options,
    ...(isDouble ? { dtype: 'float64' } : { precision }),
  })
  const rnn = backend.rnn(
    createRnnDescriptor({
      ...{ cellMode, numLayers: layers, numUnits: units, inputSize: inputs, inputMode: 'linear_input' },
      direction: bidirectional ? 'bidirectional' : 'unidirectional',
      numProj: projection || undefined,
    }),
  )
  const tensor = (dims: readonly number[], size: number, pace: number) => {
    const values = wave(elementCount(dims), size, pace)
    return { data: isDouble ? values : Float32Array.from(values), shape: dims }
  }
  const { output, outputH, tape } = await trainingForward(rnn, {
    input: tensor([time, batch, inputs], 1, 0.37),
    ...{ inputH: null, inputC: null, sequenceLengths: null },
    params: tensor([rnn.paramsSize], scale, 0.77),
  })
  const dy = tensor([time, batch, (projection || units) * (bidirectional ? 2 : 1)], 0.7, 0.43)
  const gradients = await rnn.backward(tape, { output: dy })
  return {
    y: (await output.read()).data,
    hy: (await outputH.read()).data,
    dx: (await gradients.input.read()).data,
    dw: (await gradients.params.read()).data,
  }
}
