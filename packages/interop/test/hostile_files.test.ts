import { readFileSync } from 'node:fs'
import { Random } from '@cudnn-rnn/fuzzing'
import { describe, expect, it } from 'vitest'
import { safetensorsBytes } from '../fuzz/safetensors_bytes.js'
import { importWeights, openWeightFile } from '../src/index.js'
import { fixtureBytes, fixturePath } from './fixture.js'

const FILES = [
  'pytorch/tagger.safetensors',
  'pytorch/training.pth',
  'pytorch/tagger_compressed.npz',
  'pytorch/tagger_legacy.pt',
  'onnx/lstm_bidirectional_states_lengths.onnx',
  'onnx/lstm_external.onnx',
  'keras/gru.keras',
  'keras/bidirectional_lstm.legacy.h5',
  'flax/lstm.msgpack',
  'flax/lstm_chunked.msgpack',
]

/** A damaged file gives numbers or a coded error. */
async function outcome(bytes: Uint8Array): Promise<string> {
  try {
    const file = await openWeightFile(bytes)
    try {
      for (const { read } of file.tensors) await read().catch(codeOf)
    } finally {
      await file.close()
    }
    await importWeights(bytes, { cellMode: 'rnn_tanh' })
    return 'read'
  } catch (error) {
    return codeOf(error)
  }
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown }).code
  if (typeof code !== 'string' || !code.startsWith('ERR_')) throw error
  return code
}

describe.each(FILES)('importWeights of damaged copies of %s', (file) => {
  const bytes = fixtureBytes(file)

  it('refuses every cut copy with a code', async () => {
    for (let part = 0; part < 24; part++) {
      const length = Math.floor((bytes.length * part) / 24)
      // msgpack, protobuf and safetensors are complete only as a whole; none of these is.
      expect(await outcome(bytes.subarray(0, length))).toMatch(/^ERR_|^read$/)
    }
    expect(await outcome(bytes.subarray(0, bytes.length - 1))).toMatch(/^ERR_|^read$/)
  })

  it('reads or refuses copies with changed bytes', async () => {
    const random = new Random(1)
    const fraction = () => random.below(2 ** 20) / 2 ** 20
    for (let copy = 0; copy < 100; copy++) {
      const changed = bytes.slice()
      for (let change = 0; change < 3; change++) {
        // Headers are at the beginning or the end; elements, between them, cannot be wrong.
        const at = random.chance(0.5) ? fraction() ** 3 : 1 - fraction() ** 3
        changed[Math.floor(at * (changed.length - 1))] = random.below(256)
      }
      expect(await outcome(changed)).toMatch(/^ERR_|^read$/)
    }
  })
})

it.each([
  ['a header longer than the file', (() => safetensorsBytes('{}').fill(0xff, 0, 6))()],
  ['a header that is a list', safetensorsBytes('[]        ')],
  ['offsets beyond the end', safetensorsBytes('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}')],
  [
    'a shape that overflows',
    safetensorsBytes('{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}'),
  ],
  ['a negative dimension', safetensorsBytes('{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}', 4)],
])('importWeights refuses safetensors with %s', async (_, bytes) => {
  await expect(importWeights(bytes, { format: 'safetensors' })).rejects.toMatchObject({ code: 'ERR_WEIGHTS_CORRUPT' })
})

it('importWeights believes no layer number that the file cannot hold', async () => {
  const entry = (place: number) => `{"dtype":"F32","shape":[4,1],"data_offsets":[${16 * place},${16 * place + 16}]}`
  const header = `{"weight_ih_l999999999":${entry(0)},"weight_ih_l0":${entry(1)},"weight_hh_l0":${entry(2)}}`
  const code = 'ERR_WEIGHTS_UNRECOGNIZED'
  await expect(importWeights(safetensorsBytes(header, 48))).rejects.toMatchObject({ code })
})

it('importWeights allocates no arrays that msgpack headers claim', async () => {
  // A map whose value is 60,000 arrays in each other, each claiming a million items.
  const bytes = new Uint8Array(4 + 5 * 60_000)
  bytes.set([0x81, 0xa1, 0x61])
  for (let at = 3; at + 5 < bytes.length; at += 5) bytes.set([0xdd, 0x00, 0x0f, 0x42, 0x40], at)
  await expect(importWeights(bytes, { format: 'flax' })).rejects.toMatchObject({ code: 'ERR_WEIGHTS_CORRUPT' })
})

it.each([
  ['map', [0xdf, 0xff, 0xff, 0xff, 0xff]],
  ['array', [0x81, 0xa1, 0x61, 0xdd, 0xff, 0xff, 0xff, 0xff]],
  ['text', [0x81, 0xdb, 0xff, 0xff, 0xff, 0xff, 0x61]],
  ['extension', [0x81, 0xa1, 0x61, 0xc9, 0xff, 0xff, 0xff, 0xff, 0x01]],
])('importWeights refuses a MessagePack %s that claims four thousand million', async (_, bytes) => {
  await expect(importWeights(Uint8Array.from(bytes), { format: 'flax' })).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_CORRUPT',
  })
})

it('importWeights refuses a Flax array that reaches beyond its extension value', async () => {
  const bytes = fixtureBytes('flax/lstm.msgpack')
  // The first array's elements, bin8 of the 16 bytes of a bias: one more than there is room for.
  const at = bytes.findIndex((byte, index) => byte === 0xc4 && bytes[index + 1] === 16)
  bytes[at + 1] = 17
  await expect(importWeights(bytes)).rejects.toMatchObject({ code: 'ERR_WEIGHTS_CORRUPT' })
})

it('importWeights refuses names that would fill memory', async () => {
  // Maps in each other under keys of 200 characters.
  const text = `\x81\xd9\xc8${'a'.repeat(200)}`
  const bytes = Uint8Array.from(`${text.repeat(30)}\x01`, (character) => character.charCodeAt(0))
  await expect(importWeights(bytes, { format: 'flax' })).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_CORRUPT',
    message: expect.stringContaining('a name in it is longer than'),
  })
})

it('importWeights refuses graphs within graphs without end', async () => {
  const message = (field: number, content: readonly number[]) => {
    const length = [(content.length & 0x7f) | 0x80, content.length >> 7]
    return [(field << 3) | 2, ...length, ...content]
  }
  let graph: number[] = []
  // A graph's node, its attribute, the attribute's graph.
  for (let depth = 0; depth < 100; depth++) graph = message(1, message(5, message(6, graph)))
  const model = Uint8Array.from([0x08, 0x08, ...message(7, graph)])
  await expect(importWeights(model)).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_CORRUPT',
    message: expect.stringContaining('more than 32 deep'),
  })
})

it.each([
  ['a path', (path: string) => path],
  ['bytes', (path: string) => new Uint8Array(readFileSync(path))],
])(
  'openWeightFile reads no file that HDF5 objects point to, given %s, and allocates nothing that they claim',
  async (_, given) => {
    const file = await openWeightFile(given(fixturePath('keras/hostile.weights.h5')))
    const outcomes = await Promise.all(
      file.tensors.map(async ({ name, read }) => [name.slice('layers/'.length), await read().catch(codeOf)]),
    )
    await file.close()
    expect(outcomes).toEqual([
      ['lstm/cell/vars/1', 'ERR_WEIGHTS_CORRUPT'],
      ['lstm/cell/vars/2', 'ERR_WEIGHTS_UNSUPPORTED'],
      ['lstm_1/cell/vars/0', 'ERR_WEIGHTS_CORRUPT'],
      ['lstm_1/cell/vars/1', 'ERR_WEIGHTS_CORRUPT'],
    ])
  },
)

it('importWeights lists its formats', async () => {
  await expect(importWeights(new TextEncoder().encode('no weights at all'))).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_FORMAT',
    message: expect.stringContaining('safetensors, PyTorch zip'),
  })
})

it('importWeights names a file that is not there', async () => {
  await expect(importWeights('/nowhere/model.h5')).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_NOT_FOUND',
    path: '/nowhere/model.h5',
  })
})
