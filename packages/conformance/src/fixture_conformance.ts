import { createRnnDescriptor, hiddenColumns, numPseudoLayers, outputSize } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import { coveringCases } from './covering_cases.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { concatenated, filled, filledCanonical } from './fills.js'
import { decodeFloat64, FIXTURES, type FixtureCase } from './fixture_case.js'
import { expectNumbers, type NetworkMaker, type Numbers } from './rounding_oracle.js'
import { trainingForward } from './training_forward.js'

/** Every fixture of PyTorch and TensorFlow: outputs, states and every gradient. */
export function registerFixtureConformance({ open, tolerance, roundingOracle, extent }: ExecutorUnderTest): void {
  for (const [oracle, all] of Object.entries(FIXTURES)) {
    const cases = extent === 'all' ? all : coveringFixtures(all, roundingOracle?.cases ?? [])
    describe(`agrees with ${oracle}`, () => {
      test.each(cases.map((c) => [c.id, c] as const))('%s', async (_, fixture) => {
        using backend = await open()
        const { id } = fixture
        const expected = Object.entries(fixture.expected).map(([key, text]) => [key, decodeFloat64(text)] as const)
        const run = (maker: NetworkMaker) => runFixture(maker, fixture)
        await expectNumbers({ id, numbers: Object.fromEntries(expected), run }, backend, tolerance, roundingOracle)
      })
    })
  }
}

/** The fixtures that cover each pair of a network's attributes, and those whose ids are in `also`. */
export function coveringFixtures(cases: readonly FixtureCase[], also: readonly string[]): readonly FixtureCase[] {
  const chosen = new Set(
    coveringCases(cases, (c) => ({
      cellMode: c.cellMode,
      direction: c.direction,
      inputMode: c.inputMode,
      stacked: c.numLayers > 1,
      projected: c.numProj !== undefined,
      clipped: c.cellClip !== undefined,
      ragged: c.sequenceLengths !== undefined,
      initialState: c.initialState,
      oneStep: c.T === 1,
      oneRow: c.B === 1,
    })),
  )
  return cases.filter((c) => chosen.has(c) || also.includes(c.id))
}

async function runFixture(backend: NetworkMaker, fixture: FixtureCase): Promise<Numbers> {
  const { cellMode, numLayers, numUnits, inputSize, direction, inputMode, numProj, cellClip, T, B } = fixture
  const descriptor = createRnnDescriptor({
    ...{ cellMode, numLayers, numUnits, inputSize, direction, inputMode, numProj, cellClip },
  })
  const isLstm = cellMode === 'lstm'
  const rows = numPseudoLayers(descriptor)
  const hShape = [rows, B, hiddenColumns(descriptor)]
  const cShape = [rows, B, numUnits]
  const make = (fill: Parameters<typeof filled>[0], shape: readonly number[]) => filled(fill, shape, backend.dtype)
  const rnn = backend.rnn(descriptor)
  const params = rnn.canonicalToParams(filledCanonical(descriptor, backend.dtype, fixture.weightScale))
  const result = await trainingForward(rnn, {
    input: make('x', [T, B, inputSize]),
    inputH: fixture.initialState ? make('h0', hShape) : null,
    inputC: fixture.initialState && isLstm ? make('c0', cShape) : null,
    params,
    sequenceLengths: fixture.sequenceLengths ?? null,
  })
  expect(result.tape).toBeDefined()
  const gradients = await rnn.backward(result.tape, {
    output: make('dOutput', [T, B, outputSize(descriptor)]),
    outputH: make('dOutputH', hShape),
    ...(isLstm && { outputC: make('dOutputC', cShape) }),
  })
  const canonical = await rnn.paramsToCanonical(gradients.params)
  const tensors = {
    output: result.output,
    outputH: result.outputH,
    outputC: result.outputC,
    gradInput: gradients.input,
    gradInputH: gradients.inputH,
    gradInputC: gradients.inputC,
  }
  const actual: Record<string, ArrayLike<number>> = {
    gradWeights: concatenated(canonical.weights),
    gradBiases: concatenated(canonical.biases),
  }
  for (const [key, tensor] of Object.entries(tensors)) {
    if (tensor !== undefined) actual[key] = (await tensor.read()).data
  }
  return actual
}
