import { maskCrc } from '@cudnn-rnn/checkpoint/files'
import { describe, expect, it } from 'vitest'
import { encodeBundleEntry, encodeBundleHeader } from '../../src/bundle/bundle_messages.js'
import { crc32c } from '../../src/crc32c.js'
import { memorySource, openCheckpointFrom } from '../../src/index.js'
import { encodeTable } from '../../src/table/table_writer.js'

const data = new Uint8Array(64)

/** A bundle of float32 vectors at these places of its data file. */
function openWith(places: Readonly<Record<string, readonly [offset: number, size: number]>>) {
  const entries = Object.entries(places).map(([name, [offset, size]]) => {
    const crc = maskCrc(crc32c(data.subarray(offset, offset + size)))
    const value = encodeBundleEntry({ dtypeId: 1, shape: [size / 4], shard: 0, offset, size, crc })
    return { key: new TextEncoder().encode(name), value }
  })
  const files = new Map([
    ['model.index', encodeTable([{ key: new Uint8Array(0), value: encodeBundleHeader(1) }, ...entries])],
    ['model.data-00000-of-00001', data],
  ])
  return openCheckpointFrom('model', async (path) => {
    const bytes = files.get(path)
    return bytes && memorySource(path, bytes)
  })
}

describe('openCheckpointFrom', () => {
  it('reads tensors that follow each other, leave gaps, or are empty', async () => {
    const reader = await openWith({ a: [0, 16], b: [16, 16], c: [16, 0], d: [40, 24] })
    expect((await reader.read('d')).data).toHaveLength(6)
  })

  it.each([
    ['the same bytes', { a: [0, 16], b: [0, 16] }],
    ['some bytes', { a: [0, 16], b: [12, 16] }],
    ['bytes within', { a: [0, 64], b: [16, 4] }],
  ] as const)('refuses tensors that share %s', async (_, places) => {
    await expect(openWith(places)).rejects.toMatchObject({
      code: 'ERR_CHECKPOINT_CORRUPT',
      message: expect.stringContaining('the tensors a and b overlap in data file 0'),
    })
  })

  it('refuses names that are longer than any variable has', async () => {
    await expect(openWith({ ['x'.repeat(9000)]: [0, 4] })).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_CORRUPT' })
  })
})
