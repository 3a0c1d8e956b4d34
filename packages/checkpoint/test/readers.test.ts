import { describe, expect, it } from 'vitest'
import expectedTensors from '../../../fixtures/checkpoints/expected.json'
import { coded } from '../../../scripts/testing/coded.mjs'
import * as readers from '../src/readers.js'
import { blobSource, memorySource, openCheckpointFrom, type TensorData } from '../src/readers.js'

// Data URLs work in Node and in browsers. Written by real TensorFlow: fixtures/checkpoints/make.py.
const FILES = import.meta.glob<string>('../../../fixtures/checkpoints/*/*', {
  query: '?url&inline',
  import: 'default',
  eager: true,
})

interface Expected {
  readonly prefix: string
  readonly tensors: Readonly<Record<string, { dtype: string; shape: number[]; bytes?: string; strings?: string[] }>>
}

async function filesOf(folder: string): Promise<Map<string, Blob>> {
  const files = new Map<string, Blob>()
  for (const [path, url] of Object.entries(FILES)) {
    const [parent, name] = path.split('/').slice(-2)
    if (parent === folder) files.set(name!, await (await fetch(url)).blob())
  }
  return files
}

function base64(data: TensorData): string | string[] {
  if (Array.isArray(data)) return data.map((bytes) => base64(bytes) as string)
  const { buffer, byteOffset, byteLength } = data as Uint8Array
  return btoa(Array.from(new Uint8Array(buffer, byteOffset, byteLength), (byte) => String.fromCharCode(byte)).join(''))
}

it('@cudnn-rnn/checkpoint/readers exports exactly these names', () => {
  expect(Object.keys(readers).sort()).toMatchInlineSnapshot(`
    [
      "CheckpointError",
      "blobSource",
      "memorySource",
      "openCheckpointFrom",
      "responseSource",
    ]
  `)
})

describe.each(Object.entries(expectedTensors as unknown as Record<string, Expected>))(
  "openCheckpointFrom reads TensorFlow's files, in Node and in a browser: %s",
  (folder, { prefix, tensors }) => {
    it.each(['memory', 'blobs'] as const)('from %s', async (kind) => {
      const files = await filesOf(folder)
      const reader = await openCheckpointFrom(prefix, async (path) => {
        const blob = files.get(path)
        if (blob === undefined) return undefined
        return kind === 'blobs' ? blobSource(path, blob) : memorySource(path, new Uint8Array(await blob.arrayBuffer()))
      })
      expect(reader.names()).toEqual(Object.keys(tensors).sort())
      for (const [name, { dtype, shape, bytes, strings }] of Object.entries(tensors)) {
        const tensor = await reader.read(name)
        expect([name, tensor.dtype, tensor.shape]).toEqual([name, dtype, shape])
        expect(base64(tensor.data)).toEqual(bytes ?? strings)
      }
      await reader.close()
    })
  },
)

it('memorySource and openCheckpointFrom refuse arguments of another kind with a code', async () => {
  const invalid = coded('ERR_INVALID_ARGUMENT')
  const calls = [[undefined, new Uint8Array(1)], ['walk'], ['walk', new ArrayBuffer(1)], [new Uint8Array(1), 'walk']]
  for (const given of calls) expect(() => memorySource(...(given as [never, never]))).toThrow(invalid)
  for (const given of [[], ['model'], ['model', {}], ['model', async () => ({})], [undefined, async () => undefined]]) {
    await expect(openCheckpointFrom(...(given as [never, never]))).rejects.toThrow(invalid)
  }
  const found = openCheckpointFrom('model', async () => undefined)
  await expect(found).rejects.toMatchObject({ code: 'ERR_CHECKPOINT_NOT_FOUND', path: 'model' })
})
