import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { createRnnDescriptor, elementCount, pytorchToCanonical } from '@cudnn-rnn/canonical'
import { hasErrorCode } from '@cudnn-rnn/canonical/rules'
import { afterAll, describe, expect, it } from 'vitest'
import { safetensorsBytes } from '../fuzz/safetensors_bytes.js'
import { exportWeights, importWeights, openWeightFile } from '../src/index.js'

const folder = mkdtempSync(join(tmpdir(), 'weight-input-'))
afterAll(() => rmSync(folder, { recursive: true }))
const NOT_FOUND = 'ERR_WEIGHTS_NOT_FOUND'
const at = (name: string) => join(folder, name)

const LSTM = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 2, inputSize: 3 })
const SHAPES = { weight_ih_l0: [8, 3], weight_hh_l0: [8, 2], bias_ih_l0: [8], bias_hh_l0: [8] }

function zeroCanonical(zeros = (length: number) => new Float32Array(length)) {
  const entries = Object.entries(SHAPES).map(([name, shape]) => [name, { data: zeros(elementCount(shape)), shape }])
  return pytorchToCanonical(LSTM, Object.fromEntries(entries))
}

describe('importWeights', () => {
  it.each([
    ['null', null],
    ['a number', 5],
    ['undefined', undefined],
    ['an ArrayBuffer', new ArrayBuffer(8)],
    ['a URL', new URL('file:///nowhere')],
    ['an array', [1, 2]],
    ['a source without a name', { name: {}, size: 0, read: async () => new Uint8Array(0), close: async () => {} }],
  ])('refuses %s', async (_, input) => {
    await expect(importWeights(input as unknown as string)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' })
    await expect(openWeightFile(input as unknown as string)).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' })
  })

  it('reads the bytes of another realm, and refuses those that were transferred as an empty file', async () => {
    const canonical = zeroCanonical((length) => runInNewContext('new Float32Array(length)', { length }))
    const bytes = await exportWeights([{ name: 'a', descriptor: LSTM, canonical }], { format: 'safetensors' })
    const foreign: Uint8Array = runInNewContext('Uint8Array.from(bytes)', { bytes: [...bytes] })
    expect((await importWeights(foreign)).networks).toHaveLength(1)
    structuredClone(bytes, { transfer: [bytes.buffer as ArrayBuffer] })
    await expect(importWeights(bytes)).rejects.toMatchObject({ code: 'ERR_WEIGHTS_FORMAT' })
  })

  it.each(['constructor', '__proto__', 'toString', 'safetensor'])('refuses the format %s', async (format) => {
    const options = { format: format as 'onnx' }
    await expect(importWeights(new Uint8Array(8), options)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  })

  writeFileSync(at('file'), 'text')
  symlinkSync(at('loop'), at('loop'))

  it.each([
    ['below a regular file', at('file/below'), NOT_FOUND],
    ['a loop of links', at('loop'), 'ERR_WEIGHTS_IO'],
    ['of 5,000 characters', at('x'.repeat(5000)), process.platform === 'win32' ? NOT_FOUND : 'ERR_WEIGHTS_IO'],
    ['with a NUL', at('a\0b'), 'ERR_WEIGHTS_IO'],
  ])('refuses a path %s with a code, the path and the cause', async (_, path, code) => {
    const error: unknown = await importWeights(path).catch((reason: unknown) => reason)
    expect(hasErrorCode(error, 'ERR_WEIGHTS_NOT_FOUND', 'ERR_WEIGHTS_IO')).toBe(true)
    expect(error).toMatchObject({ code, path })
    if (code === 'ERR_WEIGHTS_IO') expect(error).toHaveProperty('cause')
  })

  it.runIf(process.platform !== 'win32')('does not wait for a writer of a FIFO', async () => {
    execFileSync('mkfifo', [at('fifo')])
    await expect(importWeights(at('fifo'))).rejects.toMatchObject({ code: 'ERR_WEIGHTS_IO', path: at('fifo') })
  })
})

describe('exportWeights', () => {
  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty', undefined])(
    'refuses the format %s',
    async (format) => {
      const options = { format: format as 'onnx' }
      await expect(exportWeights([], options)).rejects.toMatchObject({
        code: expect.stringMatching(/^ERR_INVALID_OPTION/),
      })
    },
  )

  it.each([
    ['no array', {}],
    ['null', null],
    ['a network that is null', [null]],
    ['a network without weights', [{ name: 'a', descriptor: {} }]],
    ['a network whose weights are not arrays', [{ name: 'a', descriptor: {}, canonical: {} }]],
    ['a network without a name', [{ descriptor: {}, canonical: { weights: [], biases: [] } }]],
  ])('refuses %s', async (_, networks) => {
    const exported = exportWeights(networks as never, { format: 'safetensors' })
    await expect(exported).rejects.toMatchObject({ code: 'ERR_INVALID_ARGUMENT' })
  })

  it.each(['safetensors', 'npz', 'flax'] as const)(
    'refuses two networks of one name: %s would lose one',
    async (format) => {
      const network = { name: 'a', descriptor: LSTM, canonical: zeroCanonical() }
      await expect(exportWeights([network, network], { format })).rejects.toMatchObject({
        code: 'ERR_WEIGHTS_UNSUPPORTED',
        message: expect.stringContaining('distinct names'),
      })
    },
  )
})

it.skipIf(process.platform !== 'linux')(
  'a tensor larger than memory, in a sparse file that has its bytes, is refused with a code',
  async () => {
    const path = at('sparse.safetensors')
    const length = 2 ** 43
    const bytes = safetensorsBytes(`{"a":{"dtype":"F32","shape":[${length / 4}],"data_offsets":[0,${length}]}}`)
    writeFileSync(path, bytes)
    truncateSync(path, bytes.length + length)
    const file = await openWeightFile(path)
    await expect(file.tensors[0]?.read()).rejects.toMatchObject({ code: 'ERR_OUT_OF_MEMORY', requestedBytes: length })
    await file.close()
  },
)

describe('a caller who stops', () => {
  const header = {
    'lstm.weight_ih_l0': { dtype: 'F32', shape: [8, 3], data_offsets: [0, 96] },
    'lstm.weight_hh_l0': { dtype: 'F32', shape: [8, 2], data_offsets: [96, 160] },
  }
  const network = () => safetensorsBytes(JSON.stringify(header), 160)

  /** A file in memory that counts its reads and closes, and calls `onRead` before each read. */
  const counted = (onRead: (reads: number) => void = () => {}) => {
    const bytes = network()
    const source = {
      ...{ name: 'counted', size: bytes.length, reads: 0, closes: 0 },
      async read(offset: number, length: number) {
        onRead(++source.reads)
        return bytes.slice(offset, offset + length)
      },
      async close() {
        source.closes++
      },
    }
    return source
  }

  it('closes the file with await using', async () => {
    const source = counted()
    {
      await using file = await openWeightFile(source)
      expect(file.tensors).toHaveLength(2)
      expect(source.closes).toBe(0)
    }
    expect(source.closes).toBe(1)
  })

  it('rejects with the reason of a signal that is aborted before, and opens nothing', async () => {
    const source = counted()
    const signal = AbortSignal.abort(new Error('enough'))
    await expect(importWeights(source, { signal })).rejects.toThrow('enough')
    expect(source.reads).toBe(0)
  })

  it('rejects with the reason of a signal that is aborted while tensors are read, and closes the file', async () => {
    const whole = counted()
    expect((await importWeights(whole)).networks).toHaveLength(1)
    const abort = new AbortController()
    // The last read is the last tensor's.
    const source = counted((reads) => {
      if (reads === whole.reads - 1) abort.abort(new Error('enough'))
    })
    await expect(importWeights(source, { signal: abort.signal })).rejects.toThrow('enough')
    expect(source.closes).toBe(1)
  })

  it('refuses a signal that is not an object', async () => {
    await expect(importWeights(network(), { signal: 1 as never })).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION_TYPE',
    })
  })
})
