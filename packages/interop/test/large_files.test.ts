import { createRnnDescriptor, flatLayout, unpackCanonical } from '@cudnn-rnn/canonical'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { exportWeights, importWeights, openWeightFile, stackNetworks } from '../src/index.js'

/** Enough small tensors that their list spans several windows of 64 KiB. */
const descriptor = createRnnDescriptor({
  cellMode: 'lstm',
  numLayers: 300,
  numUnits: 2,
  inputSize: 3,
  inputMode: 'linear_input',
})
const layout = flatLayout(descriptor)
// Formats that keep the sum restore canonical biases that are halves of it.
const canonical = unpackCanonical(
  layout,
  Float32Array.from({ length: layout.size }, (_, k) => Math.sin(k)),
)
const halved = { ...canonical, biases: canonical.biases.map((bias) => ({ ...bias, data: bias.data.fill(0.25) })) }

/** A source that counts its reads, like a disk. */
function counted(bytes: Uint8Array): ByteSource & { readonly most: () => number; readonly total: () => number } {
  let [most, total] = [0, 0]
  return {
    name: 'large',
    size: bytes.length,
    read: async (offset, length) => {
      most = Math.max(most, length)
      total += length
      return bytes.slice(offset, offset + length)
    },
    close: async () => undefined,
    most: () => most,
    total: () => total,
  }
}

describe.each(['safetensors', 'onnx', 'flax', 'npz', 'keras'] as const)(
  'importWeights of 300 layers in %s',
  (format) => {
    it('gives back every weight', async () => {
      const bytes = await exportWeights([{ name: 'deep', descriptor, canonical: halved }], { format })
      expect(bytes.length).toBeGreaterThan(2 * 65_536)
      const { networks, unusedTensors } = await importWeights(counted(bytes))
      const inOrder = [...networks].sort((a, b) => layerOf(a.name) - layerOf(b.name))
      // The unused tensors of an ONNX model are its shape constants.
      expect(unusedTensors.filter(({ dtype }) => dtype !== 'int64')).toEqual([])
      expect(stackNetworks(inOrder).canonical).toEqual(halved)
    })
  },
)

/** `deep/layer_12`, `lstm_12`; formats list names in different orders. */
function layerOf(name: string): number {
  return Number(/(\d+)$/.exec(name)?.[1] ?? 0)
}

// A network beside an unused tensor of 8 MB.
const beside = {
  name: 'net',
  descriptor: createRnnDescriptor({
    cellMode: 'lstm',
    numLayers: 1,
    numUnits: 2,
    inputSize: 2,
    inputMode: 'linear_input',
  }),
  embedding: { data: new Float32Array(2_000_000), shape: [1_000_000, 2] },
  dense: { kernel: { data: new Float32Array(4), shape: [2, 2] }, bias: { data: new Float32Array(2), shape: [2] } },
}

it.each(['safetensors', 'onnx', 'flax'] as const)(
  'openWeightFile of %s reads no elements to list tensors',
  async (format) => {
    const own = flatLayout(beside.descriptor)
    const network = { ...beside, canonical: unpackCanonical(own, new Float32Array(own.size)) }
    const source = counted(await exportWeights([network], { format }))
    const file = await openWeightFile(source)
    expect(file.tensors.some(({ shape }) => shape.join() === '1000000,2')).toBe(true)
    expect(source.most()).toBeLessThanOrEqual(65_536)
    await importWeights(file)
    expect(source.total()).toBeLessThan(1_000_000)
  },
)
