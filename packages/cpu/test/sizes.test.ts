import { type Backend, type FloatDType, Philox } from '@cudnn-rnn/backend'
import { CELL_MODES, type CellMode, createRnnDescriptor, type RnnOptions } from '@cudnn-rnn/canonical'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expectAllclose, filled, filledCanonical, readAll } from '@cudnn-rnn/testing'
import { describe, expect, it } from 'vitest'
import { openCpuBackend } from '../src/index.js'
import { isasUnderTest } from './isas_under_test.js'

const CASES = 40
const LARGEST = 80

/** Error divided by the larger of 1 and the largest expected magnitude, against the reference in float64. */
const TOLERANCES: Readonly<Record<FloatDType, number>> = { float32: 2e-5, float64: 1e-12 }

interface Case {
  readonly options: RnnOptions
  readonly time: number
  readonly batch: number
  readonly lengths: number[] | null
  readonly threads: number
}

/** A random network and pass; every size is 1…80, small ones as likely as large ones. */
function drawCase(random: Philox): Case {
  const size = () => Math.max(1, Math.floor(LARGEST ** random.uniform()))
  const chance = (share: number) => random.uniform() < share
  const cellMode = (Object.keys(CELL_MODES) as CellMode[])[random.uint32() % 4]!
  const numUnits = size()
  const skip = chance(0.2)
  const [time, batch] = [size(), size()]
  return {
    options: {
      cellMode,
      numLayers: 1 + (random.uint32() % 3),
      numUnits,
      inputSize: skip ? numUnits : size(),
      inputMode: skip ? 'skip_input' : 'linear_input',
      direction: chance(0.4) ? 'bidirectional' : 'unidirectional',
      dropout: chance(0.3) ? 0.3 : 0,
      biasMode: (['double', 'double', 'single_input', 'single_recurrent', 'none'] as const)[random.uint32() % 5]!,
      ...(cellMode === 'lstm' && numUnits > 1 && chance(0.4) && { numProj: 1 + (random.uint32() % (numUnits - 1)) }),
      ...(cellMode === 'lstm' && chance(0.3) && { cellClip: 0.4 }),
    },
    time,
    batch,
    lengths: chance(0.4) ? Array.from({ length: batch }, () => random.uint32() % (time + 1)) : null,
    threads: 1 + (random.uint32() % 4),
  }
}

function titleOf({ options, time, batch, lengths, threads }: Case): string {
  const network = Object.values(options).map(String).join(' ')
  return `${network}, T ${time}, B ${batch}${lengths === null ? '' : ', ragged'}, ${threads} threads`
}

/** Forward and backward of a case; the gradients by the parameters in canonical form. */
async function run(backend: Backend, { options, time, batch, lengths }: Case): Promise<Record<string, number[]>> {
  const descriptor = createRnnDescriptor(options)
  using rnn = backend.rnn(descriptor)
  // Weights that neither saturate the cells nor let a relu grow.
  const scale = 1 / Math.sqrt(Math.max(descriptor.numUnits, descriptor.inputSize))
  const result = await rnn.forward({
    input: filled('x', [time, batch, descriptor.inputSize], backend.dtype),
    inputH: null,
    inputC: null,
    params: rnn.canonicalToParams(filledCanonical(descriptor, backend.dtype, scale)),
    sequenceLengths: lengths,
    training: true,
  })
  const gradient = (name: 'dOutput' | 'dOutputH', { shape }: { readonly shape: readonly number[] }) =>
    filled(name, shape, backend.dtype)
  const gradients = await rnn.backward(result.tape!, {
    output: gradient('dOutput', result.output),
    outputH: gradient('dOutputH', result.outputH),
  })
  const { params, ...others } = gradients
  const { weights, biases } = await rnn.paramsToCanonical(params)
  const canonical = [...weights, ...biases].map(({ data }, index) => [`params ${index}`, Array.from(data)])
  const named = (prefix: string, values: Record<string, number[]>) =>
    Object.entries(values).map(([name, value]) => [prefix + name, value])
  return Object.fromEntries([...named('', await readAll(result)), ...named('d ', await readAll(others)), ...canonical])
}

for (const isa of isasUnderTest('sizes')) {
  describe.each(['float32', 'float64'] as const)(
    `the executor on ${isa} agrees with the reference at random sizes, %s`,
    (dtype) => {
      const random = new Philox(20261121)
      const cases = Array.from({ length: CASES }, () => drawCase(random))
      it.each(cases.map((drawn) => [titleOf(drawn), drawn] as const))('%s', async (_, drawn) => {
        using reference = openReferenceBackend({ dtype: 'float64' })
        using backend = openCpuBackend({ dtype, isa, threads: drawn.threads })
        const expected = await run(reference, drawn)
        const actual = await run(backend, drawn)
        expect(Object.keys(actual)).toEqual(Object.keys(expected))
        for (const [name, values] of Object.entries(expected)) {
          expectAllclose(name, actual[name]!, values, TOLERANCES[dtype])
        }
      })
    },
  )
}
