import { createRnnDescriptor, layoutKey } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { loadAddon } from '../src/cpu_backend.js'
import { openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

const descriptor = createRnnDescriptor({
  cellMode: 'lstm',
  numLayers: 1,
  numUnits: 24,
  inputSize: 12,
  biasMode: 'none',
})
const layout = layoutKey(descriptor)
const x = { data: Float32Array.from({ length: 12 }, (_, k) => Math.sin(k)), shape: [1, 12] }
const { addon } = loadAddon()
const skipped = instructionSetsUnderTest('shared memory').length === 0

/** A network on a separate executor, as in a worker thread. */
function thread(weights: 'float32' | 'int8' | 'bfloat16' = 'float32') {
  const backend = openCpuBackend({ threads: 1, weights })
  return { backend, rnn: backend.rnn(descriptor) }
}

function elementsOf({ backend, rnn }: ReturnType<typeof thread>): Float32Array {
  const elements = backend.shared.allocate(rnn.paramsSize) as Float32Array
  for (const k of elements.keys()) elements[k] = 0.3 * Math.sin(0.7 * k)
  return elements
}

describe.skipIf(skipped)('shared memory of the cpu executor', () => {
  it('is aligned to a cache line and read in place by forwards and steps', async () => {
    const [a, b] = [thread(), thread()]
    const elements = elementsOf(a)
    expect(addon!.alignedOffset(new Uint8Array(elements.buffer, elements.byteOffset))).toBe(0)
    const [inA, inB] = [a, b].map(({ backend }) =>
      backend.shared.tensor(elements, { shape: [elements.length], layout, id: 'steps' }),
    )
    const expected = a.rnn.stepper(inA, 1).stepSync(x).data
    expect(b.rnn.stepper(inB, 1).stepSync(x).data).toEqual(expected)
    const pass = { inputH: null, inputC: null, sequenceLengths: null, training: false }
    const { output } = await b.rnn.forward({ input: { ...x, shape: [1, 1, 12] }, params: inB, ...pass })
    expect((await output.read()).data.length).toBe(24)
    // The copy that canonical parameters are made of is a copy.
    const { weights } = await b.rnn.paramsToCanonical(inB)
    weights[0].data.fill(0)
    expect(b.rnn.stepper(inB, 1).stepSync(x).data).toEqual(expected)
    for (const { backend } of [a, b]) backend.dispose()
  })

  it.each(['int8', 'bfloat16'] as const)('has one %s copy for each id', (weights) => {
    const [a, b] = [thread(weights), thread(weights)]
    const elements = elementsOf(a)
    const step = ({ backend, rnn }: typeof a, given: Float32Array, id: string) =>
      rnn.stepper(backend.shared.tensor(given, { shape: [given.length], layout, id }), 1).stepSync(x).data
    const expected = step(a, elements, weights)
    // Elements of the same id are taken to be the same: these zeros are never read.
    const zeros = b.backend.shared.allocate(elements.length) as Float32Array
    expect(step(b, zeros, weights)).toEqual(expected)
    expect([...step(b, zeros, 'another id')]).toEqual([...new Float32Array(24)])
    for (const { backend } of [a, b]) backend.dispose()
  })

  it('counts the owners of a copy', () => {
    const [one, two, apart] = [
      new addon!.NativeQuantizedWeights('owners'),
      new addon!.NativeQuantizedWeights('owners'),
      new addon!.NativeQuantizedWeights(),
    ]
    expect([one.owners(), two.owners(), apart.owners()]).toEqual([2, 2, 1])
  })
})
