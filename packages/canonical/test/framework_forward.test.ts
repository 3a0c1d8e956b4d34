import { describe, expect, it } from 'vitest'
import {
  type CanonicalParams,
  canonicalToKeras,
  canonicalToOnnx,
  canonicalToPytorch,
  canonicalToTensorflow,
  createRnnDescriptor,
  type Framework,
  kerasToCanonical,
  type NamedTensors,
  onnxToCanonical,
  pytorchToCanonical,
  type RnnDescriptor,
  type RnnOptions,
  tensorflowToCanonical,
} from '../src/index.js'
import { naiveForward } from './naive_rnn.js'

interface StoredTensor {
  readonly shape: readonly number[]
  readonly data: readonly number[]
}

/** Flax's numbers are among the fixtures of interop. */
type Stored = Exclude<Framework, 'flax'>

interface StoredCase {
  readonly framework: Stored
  readonly descriptor: RnnOptions
  readonly groups: readonly Readonly<Record<string, StoredTensor>>[]
  readonly input: StoredTensor
  readonly output: StoredTensor
}

// Made by fixtures/layouts/make.py; a literal glob, as Vite then serves the file to Node and to browsers.
const [fixture] = Object.values(
  (import.meta as unknown as { glob<T>(path: string, options: object): Record<string, T> }).glob<{
    readonly cases: readonly StoredCase[]
  }>('../../../fixtures/layouts/layouts.json', { eager: true, import: 'default' }),
)

/** float32 frameworks (ONNX Runtime, TensorFlow's BlockLSTM) against float64 arithmetic; the others compute in float64. */
const TOLERANCE: Readonly<Record<Stored, number>> = { pytorch: 1e-14, keras: 1e-14, onnx: 5e-7, tensorflow: 5e-7 }

type Groups = readonly NamedTensors<Float64Array>[]
type Canonical = CanonicalParams<Float64Array>

const READ: Readonly<Record<Stored, (descriptor: RnnDescriptor, groups: Groups) => Canonical>> = {
  pytorch: (descriptor, [stateDict]) => pytorchToCanonical(descriptor, stateDict),
  keras: kerasToCanonical,
  onnx: (descriptor, groups) => onnxToCanonical(descriptor, groups, { linearBeforeReset: 1 }),
  tensorflow: tensorflowToCanonical,
}

const WRITE: Readonly<Record<Stored, (descriptor: RnnDescriptor, canonical: Canonical) => Groups>> = {
  pytorch: (descriptor, canonical) => [canonicalToPytorch(descriptor, canonical)],
  keras: canonicalToKeras,
  onnx: canonicalToOnnx,
  tensorflow: canonicalToTensorflow,
}

const titled = fixture.cases.map((stored) => ({
  ...stored,
  title: [stored.framework, stored.descriptor.cellMode, stored.descriptor.direction ?? 'unidirectional'].join(' '),
}))

describe.each(titled)('$title, layers $descriptor.numLayers, projection $descriptor.numProj', (stored) => {
  const descriptor = createRnnDescriptor(stored.descriptor)
  const tensor = ({ shape, data }: StoredTensor) => ({ shape, data: Float64Array.from(data) })
  const groups = stored.groups.map((group) =>
    Object.fromEntries(Object.entries(group).map(([name, value]) => [name, tensor(value)])),
  )

  it("computes the framework's own output from the framework's own tensors", () => {
    const canonical = READ[stored.framework](descriptor, groups)
    const output = naiveForward(descriptor, canonical, tensor(stored.input))
    const errors = stored.output.data.map((expected, index) => Math.abs(output[index] - expected))
    expect(output).toHaveLength(stored.output.data.length)
    expect(Math.max(...errors)).toBeLessThan(TOLERANCE[stored.framework])
  })

  it("writes back the framework's own tensors, names and shapes", () => {
    expect(WRITE[stored.framework](descriptor, READ[stored.framework](descriptor, groups))).toEqual(groups)
  })
})
