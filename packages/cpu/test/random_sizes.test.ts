import type { Backend, BackendTensor, FloatDType, Rnn } from '@cudnn-rnn/ops'
import {
  CELL_MODES,
  type CellMode,
  createRnnDescriptor,
  hiddenColumns,
  numPseudoLayers,
  type RnnOptions,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { expectAllclose, filled, filledCanonical, readAll } from '@cudnn-rnn/conformance'
import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import { Philox, type RnnForwardInputs } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { openCpuBackend } from '../src/index.js'
import { vectorsUnderTest } from './instruction_sets_under_test.js'

const CASES = 80
const LARGEST = 80

/** Error divided by the larger of 1 and the largest expected magnitude, against the reference in float64. */
const TOLERANCES: Readonly<Record<FloatDType, number>> = { float32: 2e-5, float64: 1e-12 }

interface Case {
  readonly options: RnnOptions
  readonly time: number
  readonly batch: number
  readonly lengths: number[] | null
  readonly initialStates: boolean
  readonly threads: number
}

/** A random network and pass; every size is 1…80, small ones as likely as large ones. */
function drawCase(random: Philox): Case {
  const size = () => Math.max(1, Math.floor(LARGEST ** random.uniform()))
  const chance = (share: number) => random.uniform() < share
  const cellMode = (Object.keys(CELL_MODES) as CellMode[])[random.uint32() % 4]
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
      biasMode: (['double', 'double', 'single_input', 'single_recurrent', 'none'] as const)[random.uint32() % 5],
      ...(cellMode === 'lstm' && numUnits > 1 && chance(0.4) && { numProj: 1 + (random.uint32() % (numUnits - 1)) }),
      ...(cellMode === 'lstm' && chance(0.3) && { cellClip: 0.4 }),
    },
    time,
    batch,
    lengths: chance(0.4) ? Array.from({ length: batch }, () => random.uint32() % (time + 1)) : null,
    initialStates: chance(0.5),
    threads: 1 + (random.uint32() % 4),
  }
}

function titleOf({ options, time, batch, lengths, initialStates, threads }: Case): string {
  const network = Object.values(options).map(String).join(' ')
  const pass = `T ${time}, B ${batch}${lengths === null ? '' : ', ragged'}${initialStates ? ', from states' : ''}`
  return `${network}, ${pass}, ${threads} threads`
}

/** Values by the part of a run, and by name. */
type Results = Readonly<Record<string, Readonly<Record<string, number[]>>>>

/** The results of a case: training and its gradients, the parameters' in canonical form; inference; a stream if the network has one. */
async function run(backend: Backend, { options, time, batch, lengths, initialStates }: Case): Promise<Results> {
  const descriptor = createRnnDescriptor(options)
  const { inputSize, cellMode, numUnits } = descriptor
  using rnn = backend.rnn(descriptor)
  // Weights that neither saturate the cells nor let a relu grow.
  const scale = 1 / Math.sqrt(Math.max(numUnits, inputSize))
  const params = rnn.canonicalToParams(filledCanonical(descriptor, backend.dtype, scale))
  const rows = numPseudoLayers(descriptor)
  const state = (name: 'h0' | 'c0', columns: number) =>
    initialStates ? filled(name, [rows, batch, columns], backend.dtype) : null
  const pass = {
    input: filled('x', [time, batch, inputSize], backend.dtype),
    inputH: state('h0', hiddenColumns(descriptor)),
    inputC: cellMode === 'lstm' ? state('c0', numUnits) : null,
    params,
    sequenceLengths: lengths,
  }

  const trained = await rnn.forward({ ...pass, training: true })
  const gradient = (name: 'dOutput' | 'dOutputH' | 'dOutputC', result: BackendTensor | undefined) =>
    result && filled(name, result.shape, backend.dtype)
  const { params: dParams, ...gradients } = await rnn.backward(trained.tape!, {
    output: gradient('dOutput', trained.output),
    outputH: gradient('dOutputH', trained.outputH),
    outputC: gradient('dOutputC', trained.outputC),
  })
  const { weights, biases } = await rnn.paramsToCanonical(dParams)
  const inferred = await readAll(await rnn.forward({ ...pass, training: false }))
  return {
    trained: await readAll(trained),
    gradients: await readAll(gradients),
    params: Object.fromEntries([...weights, ...biases].map(({ data }, index) => [index, Array.from(data)])),
    inferred,
    streamed: { output: stream(rnn, pass, batch) ?? inferred['output'] },
  }
}

/** The outputs of a stream over the whole input; none if the executor, or the case, has no streams. */
function stream(rnn: Rnn, pass: Omit<RnnForwardInputs, 'training'>, batch: number) {
  const { params, input, inputH, inputC, sequenceLengths } = pass
  if (rnn.stepper === undefined || rnn.descriptor.direction === 'bidirectional' || sequenceLengths !== null) return null
  const stepper = rnn.stepper(params, batch)
  if (inputH !== null) stepper.restore({ h: inputH as Tensor, c: (inputC as Tensor | null) ?? undefined })
  const { data } = stepper.stepSync(input as Tensor)
  stepper.dispose()
  return Array.from(data)
}

const random = new Philox(20261121)
const cases = Array.from({ length: CASES }, () => drawCase(random))
const titled = cases.map((drawn) => [titleOf(drawn), drawn] as const)

const expectations = new Map<Case, Promise<Results>>()

/** The reference's results of a case: every instruction set and both dtypes are held to the same. */
function expectedOf(drawn: Case): Promise<Results> {
  const known = expectations.get(drawn) ?? run(openReferenceBackend({ dtype: 'float64' }), drawn)
  expectations.set(drawn, known)
  return known
}

it.each(Object.keys(CELL_MODES) as CellMode[])('the random cases cover %s', (cellMode) => {
  const own = cases.filter(({ options }) => options.cellMode === cellMode)
  const some = (holds: (drawn: Case) => boolean) => own.some(holds)
  expect({
    both: some(({ options }) => options.direction === 'bidirectional'),
    ragged: some(({ lengths }) => lengths !== null),
    // Few rows and many go different ways backwards.
    few: some(({ time, batch }) => time * batch < 256),
    many: some(({ time, batch }) => batch >= 4 && time * batch >= 256),
    manyOfOddSizes: some(({ time, batch, options }) => batch >= 4 && time * batch >= 256 && options.numUnits % 16 > 0),
    raggedBoth: some(({ lengths, options }) => lengths !== null && options.direction === 'bidirectional'),
    streams: some(({ lengths, options }) => lengths === null && options.direction === 'unidirectional'),
    states: some(({ initialStates }) => initialStates),
    dropout: some(({ options }) => options.dropout! > 0 && options.numLayers > 1),
    skipped: some(({ options }) => options.inputMode === 'skip_input'),
    projected: cellMode !== 'lstm' || some(({ options }) => options.numProj !== undefined),
    projectedBoth:
      cellMode !== 'lstm' ||
      some(({ options }) => options.numProj !== undefined && options.direction === 'bidirectional'),
    clipped: cellMode !== 'lstm' || some(({ options }) => options.cellClip !== undefined),
  }).toEqual({
    ...{
      both: true,
      few: true,
      many: true,
      manyOfOddSizes: true,
      ragged: true,
      raggedBoth: true,
      streams: true,
      states: true,
      dropout: true,
      skipped: true,
    },
    ...{ projected: true, projectedBoth: true, clipped: true },
  })
})

for (const [set, instructionSet] of vectorsUnderTest('sizes').entries()) {
  describe.each([
    ['float32', set],
    ['float64', set + 1],
  ] as const)(`the executor on ${instructionSet} agrees with the reference at random sizes, %s`, (dtype, pair) => {
    // Each case runs on every second pair of instruction set and dtype; on all of them in `npm run test:all`.
    const own = requestedExtent === 'all' ? titled : titled.filter((_, index) => (index + pair) % 2 === 0)
    it.each(own)('%s', async (_, drawn) => {
      using backend = openCpuBackend({ dtype, instructionSet, threads: drawn.threads })
      const expected = await expectedOf(drawn)
      const actual = await run(backend, drawn)
      for (const [part, tensors] of Object.entries(expected)) {
        expect(Object.keys(actual[part])).toEqual(Object.keys(tensors))
        for (const [name, values] of Object.entries(tensors)) {
          expectAllclose(`${part} ${name}`, actual[part][name], values, TOLERANCES[dtype])
        }
      }
    })
  })
}
