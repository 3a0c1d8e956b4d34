import { describe, expect, it } from 'vitest'
import { modelBytes, nodeMessage, tensorMessage } from '../fuzz/onnx_bytes.js'
import { OPS, PickleBytes } from '../fuzz/pickle_bytes.js'
import { safetensorsBytes } from '../fuzz/safetensors_bytes.js'
import { type ZipFile, zipBytes } from '../fuzz/zip_bytes.js'
import { type ImportedNetwork, importWeights } from '../src/index.js'

/** A file of `torch.save` with this pickle and these storages. */
function torchFile(pickle: PickleBytes, storages: readonly ZipFile[] = []): Uint8Array {
  return zipBytes([{ name: 'm/data.pkl', bytes: pickle.finish() }, ...storages])
}

/** A pickle of one value that holds itself twice at each of `depth` levels: 2^depth paths lead to the innermost. */
function doubled(pickle: PickleBytes, depth: number): PickleBytes {
  for (let level = 0; level < depth; level++) pickle.put(level).get(level).op(OPS.tuple2)
  return pickle
}

function distinctBytes(networks: readonly ImportedNetwork[]): number {
  const arrays = networks.flatMap(({ canonical }) =>
    [...canonical.weights, ...canonical.biases].map(({ data }) => data),
  )
  return [...new Set(arrays)].reduce((sum, { byteLength }) => sum + byteLength, 0)
}

describe('importWeights of a pickle', () => {
  it('makes no text of a key that is a tuple of shared tuples, which would be longer than memory', async () => {
    const shared = doubled(new PickleBytes().op(OPS.emptyDict, OPS.emptyList).text('x').op(OPS.append), 60)
    const deep = new PickleBytes().op(OPS.emptyDict).text('x').repeat(OPS.tuple1, 100_000)
    for (const pickle of [shared, deep]) {
      const { unusedTensors } = await importWeights(torchFile(pickle.int(1).op(OPS.setItem)))
      expect(unusedTensors).toEqual([])
    }
  })

  it('refuses a global whose names are tuples, and shows no long name of one', async () => {
    const shared = doubled(new PickleBytes().op(OPS.emptyDict).text('x'), 60).text('b').op(OPS.stackGlobal)
    await expect(importWeights(torchFile(shared))).rejects.toMatchObject({ code: 'ERR_WEIGHTS_CORRUPT' })
    const long = new PickleBytes().op(OPS.emptyDict).text('lstm').text('os').text('x'.repeat(1_000_000))
    const refused = importWeights(torchFile(long.op(OPS.stackGlobal, OPS.emptyTuple, OPS.reduce, OPS.setItem)))
    await expect(refused).rejects.toMatchObject({ code: 'ERR_WEIGHTS_UNRECOGNIZED' })
    await expect(refused).rejects.toSatisfy((error: Error) => error.message.length < 1000)
  })

  it('refuses more values than a file of its size has use for', async () => {
    const pickle = new PickleBytes().repeat(OPS.emptyDict, 1_000_000)
    await expect(importWeights(torchFile(pickle))).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_UNSUPPORTED',
      message: expect.stringContaining('more values'),
    })
  })

  it('lists one tensor under each of its names', async () => {
    const view = { key: '0', count: 4, shape: [4], strides: [1] }
    const pickle = new PickleBytes().op(OPS.emptyDict).text('a').tensor(view).put(0).op(OPS.setItem)
    const bytes = torchFile(pickle.text('b').get(0).op(OPS.setItem), [{ name: 'm/data/0', bytes: new Uint8Array(16) }])
    const { unusedTensors } = await importWeights(bytes)
    expect(unusedTensors.map(({ name }) => name)).toEqual(['a', 'b'])
  })

  it('refuses a name of two tensors, of which networks would have the last', async () => {
    const view = { key: '0', count: 4, shape: [4], strides: [1] }
    const pickle = new PickleBytes().op(OPS.emptyDict).text('a.b').tensor(view).put(0).op(OPS.setItem)
    const inner = pickle.text('a').op(OPS.emptyDict).text('b').get(0).op(OPS.setItem, OPS.setItem)
    const bytes = torchFile(inner, [{ name: 'm/data/0', bytes: new Uint8Array(16) }])
    await expect(importWeights(bytes)).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_CORRUPT',
      message: expect.stringContaining('two values in it are called a.b'),
    })
  })
})

describe('importWeights of networks that share their elements', () => {
  const H = 64

  it('gives the networks of one storage the same arrays', async () => {
    const count = 4 * H * H
    const pickle = new PickleBytes().op(OPS.emptyDict)
    const view = { key: '0', count, shape: [4 * H, H], strides: [H, 1] }
    for (let network = 0; network < 200; network++) {
      for (const side of ['ih', 'hh']) pickle.text(`n${network}.weight_${side}_l0`).tensor(view).op(OPS.setItem)
    }
    const storage = { name: 'm/data/0', bytes: new Uint8Array(4 * count), deflate: true }
    const { networks } = await importWeights(torchFile(pickle, [storage]))
    expect(networks).toHaveLength(200)
    expect(distinctBytes(networks)).toBe(2 * 4 * count + 8 * 4 * H)
  })

  it('refuses views of one storage that are each another, beyond a multiple of the file', async () => {
    const count = 2 ** 20
    const pickle = new PickleBytes().op(OPS.emptyDict)
    for (let network = 0; network < 400; network++) {
      for (const [place, side] of ['ih', 'hh'].entries()) {
        const view = { key: '0', count, offset: 2 * network + place, shape: [4 * H, H], strides: [H, 1] }
        pickle.text(`n${network}.weight_${side}_l0`).tensor(view).op(OPS.setItem)
      }
    }
    const bytes = torchFile(pickle, [{ name: 'm/data/0', bytes: new Uint8Array(4 * count), deflate: true }])
    await expect(importWeights(bytes)).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_UNSUPPORTED',
      message: expect.stringContaining('its networks must take at most'),
    })
  })

  it('gives 20,000 nodes of one initializer the same arrays', async () => {
    const nodes = Array.from({ length: 20_000 }, (_, index) => nodeMessage('RNN', ['X', 'W', 'W'], `y${index}`))
    const bytes = modelBytes(nodes, [tensorMessage('W', [1, 1, 1], 4)])
    const { networks } = await importWeights(bytes, { cellMode: 'rnn_tanh' })
    expect(networks).toHaveLength(20_000)
    expect(new Set(networks.map(({ canonical }) => canonical)).size).toBe(1)
  })
})

describe('importWeights of an ONNX model', () => {
  it('visits each value before an initial state once, where each node names the one before it eight times', async () => {
    const nodes = Array.from({ length: 16 }, (_, index) => {
      return nodeMessage('Concat', Array<string>(8).fill(`c${index}`), `c${index + 1}`)
    })
    nodes.push(nodeMessage('RNN', ['X', 'W', 'W', '', '', 'c16'], 'y'))
    const initializers = [tensorMessage('W', [1, 1, 1], 4), tensorMessage('c0', [1, 1, 1], 4)]
    const { networks } = await importWeights(modelBytes(nodes, initializers), { cellMode: 'rnn_tanh' })
    expect(networks).toHaveLength(1)
    expect(networks[0]!.inputs).toEqual({})
  })

  it('leaves states that are computed by more nodes than exporters write to the caller', async () => {
    const nodes = Array.from({ length: 100 }, (_, index) => nodeMessage('Identity', [`c${index}`], `c${index + 1}`))
    nodes.push(nodeMessage('RNN', ['X', 'W', 'W', '', '', 'c100'], 'y'))
    const initializers = [tensorMessage('W', [1, 1, 1], 4), tensorMessage('c0', [1, 1, 1], 4)]
    const { networks } = await importWeights(modelBytes(nodes, initializers), { cellMode: 'rnn_tanh' })
    expect(networks[0]!.notes).toEqual([expect.stringContaining('pass it as inputH')])
  })
})

describe('importWeights of safetensors', () => {
  const entry = (dtype: string, begin: number, end: number) =>
    `{"dtype":"${dtype}","shape":[${(end - begin) / 4}],"data_offsets":[${begin},${end}]}`

  it.each([
    ['tensors that overlap', `{"a":${entry('F32', 0, 8)},"b":${entry('F32', 4, 12)}}`],
    ['tensors of the same bytes', `{"a":${entry('F32', 0, 12)},"b":${entry('F32', 0, 12)}}`],
    ['a gap between tensors', `{"a":${entry('F32', 0, 4)},"b":${entry('F32', 8, 12)}}`],
    ['bytes that no tensor has', `{"a":${entry('F32', 0, 8)}}`],
  ])('refuses %s', async (_, header) => {
    await expect(importWeights(safetensorsBytes(header, 12))).rejects.toMatchObject({ code: 'ERR_WEIGHTS_CORRUPT' })
  })

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])('lists a tensor of dtype %s', async (dtype) => {
    const { unusedTensors } = await importWeights(safetensorsBytes(`{"a":${entry(dtype, 0, 4)}}`, 4))
    expect(unusedTensors).toEqual([{ name: 'a', shape: [1], dtype }])
  })

  it('refuses a header that is nested deeper than one', async () => {
    const header = `{"a":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`
    await expect(importWeights(safetensorsBytes(header))).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_CORRUPT',
      message: expect.stringContaining('nested more than 3 deep'),
    })
  })

  it('reads or refuses more layers than a call has arguments', async () => {
    const names = Array.from({ length: 65_000 }, (_, layer) => ['ih', 'hh'].map((side) => `weight_${side}_l${layer}`))
    const header = names
      .flat()
      .map((name, place) => `"${name}":{"dtype":"F32","shape":[1,1],"data_offsets":[${4 * place},${4 * place + 4}]}`)
    const bytes = safetensorsBytes(`{${header.join(',')}}`, 4 * header.length)
    await expect(importWeights(bytes, { cellMode: 'rnn_tanh' })).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_UNSUPPORTED',
    })
  })
})

describe('importWeights of a zip archive', () => {
  const array = { name: 'a.npy', bytes: new Uint8Array(80) }

  it.each([
    ['files that are one', [array, { name: 'b.npy', bytes: array.bytes, sameAs: 0 }], 'must end before'],
    ['two files of one name', [array, array], 'two files in it are called a.npy'],
    ['a stored file larger than its bytes', [{ ...array, claims: { size: 4096 } }], 'cannot be 4096 bytes'],
    [
      'a wrong checksum',
      [{ name: 'm/data.pkl', bytes: new PickleBytes().finish(), claims: { checksum: 1 } }],
      'checksum',
    ],
  ] as const)('refuses %s', async (_, files, message) => {
    await expect(importWeights(zipBytes(files))).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_CORRUPT',
      message: expect.stringContaining(message),
    })
  })
})

describe('importWeights of sizes that no cell has', () => {
  it('refuses a projection beside the weights of a plain RNN', async () => {
    const header = {
      'rnn.weight_ih_l0': { dtype: 'F32', shape: [4, 3], data_offsets: [0, 48] },
      'rnn.weight_hh_l0': { dtype: 'F32', shape: [4, 2], data_offsets: [48, 80] },
      'rnn.weight_hr_l0': { dtype: 'F32', shape: [2, 4], data_offsets: [80, 112] },
    }
    const bytes = safetensorsBytes(JSON.stringify(header), 112)
    for (const cellMode of [undefined, 'rnn_tanh'] as const) {
      await expect(importWeights(bytes, { cellMode })).rejects.toMatchObject({ code: 'ERR_WEIGHTS_UNRECOGNIZED' })
    }
  })
})
