import { memorySource } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { safetensorsBytes } from '../fuzz/safetensors_bytes.js'
import { zipBytes } from '../fuzz/zip_bytes.js'
import { detectFormat, detectZip } from '../src/detect_format.js'
import { openZip } from '../src/files/zip_archive.js'

const detect = (bytes: Iterable<number>) => detectFormat(memorySource('weights', Uint8Array.from(bytes)))
const unknown = (advice: RegExp) =>
  coded('ERR_WEIGHTS_FORMAT', { name: 'WeightFileError', message: expect.stringMatching(advice) })

const MAGIC_NUMBER = [0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e]

describe('detectFormat', () => {
  it.each([
    ['keras-h5', 'the signature of HDF5', [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a]],
    ['zip', 'the signature of a local header', [0x50, 0x4b, 0x03, 0x04]],
    ['safetensors', 'a brace behind the length of a header', safetensorsBytes('{}        ')],
    ['onnx', 'field 1 of a ModelProto', [0x08, 0x0a]],
    ['onnx', 'a ModelProto with a producer_name', [0x08, 0x0a, 0x12, 0x07, 0x70, 0x79]],
    // The length of such a header is also field 1's.
    ['safetensors', 'a header of 2,568 bytes', [0x08, 0x0a, 0, 0, 0, 0, 0, 0, 0x7b, 0x22]],
    ['keras-json', 'a model.json', new TextEncoder().encode('{"format": "layers-model", "modelTopology": {}}')],
    ['shards', 'an index of shards', new TextEncoder().encode('{"metadata": {"total_size": 9}, "weight_map": {}}')],
    ['torch-legacy', 'a file of PyTorch before 1.6', [0x80, 0x02, ...MAGIC_NUMBER]],
    ['torch-legacy', 'the same in protocol 4', [0x80, 0x04, 0x95, 13, 0, 0, 0, 0, 0, 0, 0, ...MAGIC_NUMBER]],
    ['flax', 'a map of one entry', [0x81, 0xa6]],
    ['flax', 'a map of fifteen entries', [0x8f, 0xa6]],
    ['flax', 'a map with 16 bits of length', [0xde, 0, 0x10, 0xd9, 0x20]],
    ['flax', 'a map with 32 bits of length', [0xdf, 0, 1, 0, 0, 0xbf]],
  ])('takes for %s %s', async (format, _, bytes) => {
    expect(await detect(bytes)).toBe(format)
  })

  it.each([
    ['no bytes', [], /It is empty/],
    ['another pickle', [0x80, 0x03, 0x7d], /numpy\.savez/],
    ['a SavedModel', [0x08, 0x01, 0x12, 0x20, 0x0a, 0x10], /SavedModel: give the directory/],
    ['a model of Core ML', [0x08, 0x04, 0x12, 0xa0, 0x01, 0x0a, 0x10], /Core ML: import the model/],
    ['a frozen graph', [0x0a, 0x20, 0x0a, 0x01, 0x78], /frozen graph.*tf2onnx/],
    ['a model of TensorFlow Lite', [0x1c, 0, 0, 0, 0x54, 0x46, 0x4c, 0x33], /TensorFlow Lite/],
    ['a JSON object', new TextEncoder().encode('{"weights": []}'), /name the file of weights/],
    ['a JSON array', new TextEncoder().encode('[{"a": 1}]'), /name the file of weights/],
    ['a gzip file', [0x1f, 0x8b, 0x08], /unpack it first/],
    ['a field 1 that is not a version of ONNX', [0x08, 0x40], /If it is one of these, it is damaged/],
    ['one byte of a ModelProto', [0x08], /If it is one of these, it is damaged/],
    ['a PNG', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], /If it is one of these, it is damaged/],
    [
      'a map with 16 bits of length whose first key is a number',
      [0xde, 0, 0x10, 0x01],
      /If it is one of these, it is damaged/,
    ],
    ['a text', new TextEncoder().encode('weights'), /If it is one of these, it is damaged/],
  ])('refuses %s, with what to do', async (_, bytes, advice) => {
    await expect(detect(bytes)).rejects.toThrow(unknown(advice))
  })
})

describe('detectZip', () => {
  const archive = (path: string, ...names: readonly string[]) =>
    openZip(memorySource(path, zipBytes(names.map((name) => ({ name, bytes: new Uint8Array(1) })))))

  it.each([
    ['pytorch', ['lstm/data.pkl', 'lstm/data/0', 'lstm/version']],
    ['keras-archive', ['metadata.json', 'config.json', 'model.weights.h5']],
    ['npz', ['readme', 'kernel.npy']],
    ['agent', ['data', 'policy.pth', 'policy.optimizer.pth']],
  ])('takes for %s an archive of its files', async (format, names) => {
    expect(detectZip(await archive('archive', ...names))).toBe(format)
  })

  it('refuses a program of torch.export, with how to save its weights', async () => {
    const program = await archive('program.pt2', 'program/models/model.json', 'program/data/weights/weight_0')
    expect(() => detectZip(program)).toThrow(unknown(/torch\.export\.load\(file\)\.state_dict/))
  })

  it('refuses other archives, and names five of their files', async () => {
    const other = await archive('files.zip', 'a', 'data.pkl', 'c', 'd', 'e', 'f')
    expect(() => detectZip(other)).toThrow(
      unknown(/a zip archive of a, data\.pkl, c, d, e: unpack it, and import the file of weights in it: files\.zip$/),
    )
  })
})
