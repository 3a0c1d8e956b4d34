import { describe, expect, it } from 'vitest'
import { importWeights, openWeightFile } from '../src/index.js'
import { fixtureBytes } from './fixture.js'

const FILES = [
  'pytorch/tagger.safetensors',
  'pytorch/training.pth',
  'pytorch/tagger_compressed.npz',
  'onnx/lstm_bidirectional_states_lengths.onnx',
  'keras/gru.keras',
  'keras/bidirectional_lstm.legacy.h5',
  'flax/lstm.msgpack',
]

/** Whatever a damaged file does, it ends in numbers or in a coded error. */
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

/** Equal numbers in 0..1 on every machine: a linear congruential generator. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
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
    const random = randomNumbers(1)
    for (let copy = 0; copy < 100; copy++) {
      const changed = bytes.slice()
      for (let change = 0; change < 3; change++) {
        // Headers lie at the beginning or the end; elements, between them, cannot be wrong.
        const at = random() < 0.5 ? random() ** 3 : 1 - random() ** 3
        changed[Math.floor(at * (changed.length - 1))] = Math.floor(random() * 256)
      }
      expect(await outcome(changed)).toMatch(/^ERR_|^read$/)
    }
  })
})

/** A safetensors file with this header. */
function safetensors(header: string, data = 0): Uint8Array {
  const text = new TextEncoder().encode(header)
  const bytes = new Uint8Array(8 + text.length + data)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true)
  bytes.set(text, 8)
  return bytes
}

it.each([
  ['a header longer than the file', (() => safetensors('{}').fill(0xff, 0, 6))()],
  ['a header that is a list', safetensors('[]        ')],
  ['offsets beyond the end', safetensors('{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}')],
  ['a shape that overflows', safetensors('{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}')],
  ['a negative dimension', safetensors('{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}', 4)],
])('importWeights refuses safetensors with %s', async (_, bytes) => {
  await expect(importWeights(bytes, { format: 'safetensors' })).rejects.toMatchObject({ code: 'ERR_WEIGHTS_CORRUPT' })
})

it('importWeights believes no layer number that the file cannot hold', async () => {
  const entry = (shape: string) => `{"dtype":"F32","shape":${shape},"data_offsets":[0,16]}`
  const header = `{"weight_ih_l999999999":${entry('[4,1]')},"weight_ih_l0":${entry('[4,1]')},"weight_hh_l0":${entry('[4,1]')}}`
  const { networks, leftovers } = await importWeights(safetensors(header, 16))
  expect(networks).toEqual([])
  expect(leftovers).toHaveLength(3)
})

it('importWeights says which formats it knows', async () => {
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
