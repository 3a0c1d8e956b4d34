import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  type ByteInput,
  MemoryStore,
  memorySource,
  openCheckpointFrom,
  responseSource,
  writeCheckpoint,
} from '../../src/index.js'

const BYTES = Uint8Array.of(0, 1, 2, 3)

describe('responseSource', () => {
  it('reads ranges of the body', async () => {
    const source = await responseSource('file', new Response(BYTES))
    expect([source?.name, source?.size, await source?.read(1, 2)]).toEqual(['file', 4, Uint8Array.of(1, 2)])
  })

  it.each([404, 410])('returns undefined for status %d', async (status) => {
    expect(await responseSource('file', new Response('none', { status }))).toBeUndefined()
  })

  it.each([403, 500])('refuses status %d with a code', async (status) => {
    const refused = responseSource('file', new Response('a page', { status }))
    await expect(refused).rejects.toThrow(coded('ERR_CHECKPOINT_IO', { path: 'file' }))
  })

  it('refuses a body that was read before, or ends early, with the cause', async () => {
    const read = new Response(BYTES)
    await read.arrayBuffer()
    const broken = new Response(new ReadableStream({ pull: (stream) => stream.error(new Error('connection lost')) }))
    for (const response of [read, broken]) {
      const refused = responseSource('file', response)
      await expect(refused).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_IO', cause: expect.anything() })
    }
  })

  it.each([null, {}, BYTES, [new Response()], { blob() {}, arrayBuffer() {} }])('refuses %o', async (value) => {
    await expect(responseSource('file', value as never)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
  })
})

describe('openCheckpointFrom', () => {
  const stored = async () => {
    const store = new MemoryStore()
    await writeCheckpoint('model', [['bias', { data: Float32Array.of(1, 2), shape: [2] }]], { store })
    return new Map([...store.files].map(([name, bytes]) => [name, new Uint8Array(bytes)]))
  }

  it.each<[string, (bytes: Uint8Array<ArrayBuffer>) => ByteInput]>([
    ['bytes', (bytes) => bytes],
    ['a Blob', (bytes) => new Blob([bytes])],
    ['a Response', (bytes) => new Response(bytes)],
    ['a ByteSource', (bytes) => memorySource('file', bytes)],
  ])('reads files that are given as %s', async (_, input) => {
    const files = await stored()
    const opened: string[] = []
    const reader = await openCheckpointFrom('model', async (path) => {
      opened.push(path)
      const bytes = files.get(path)
      return bytes && input(bytes)
    })
    expect((await reader.read('bias')).data).toEqual(Float32Array.of(1, 2))
    expect(opened).toEqual(['model.index', 'model.data-00000-of-00001'])
    await reader.close()
  })

  it('takes the status 404 as a file that does not exist', async () => {
    const none = openCheckpointFrom('model', async () => new Response('', { status: 404 }))
    await expect(none).rejects.toThrow(coded('ERR_CHECKPOINT_NOT_FOUND'))
  })

  it('refuses a data file of another kind', async () => {
    const files = await stored()
    const reader = await openCheckpointFrom('model', async (path) =>
      path === 'model.index' ? files.get(path) : ('text' as never),
    )
    await expect(reader.read('bias')).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
  })
})
