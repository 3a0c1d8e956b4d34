import { expect, it } from 'vitest'
import { fileKind } from '../src/speech/file_kind.js'

it.each([
  ['model.h5', [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a, 0], 'dtln'],
  ['renamed.bin', [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a], 'dtln'],
  ['silero_vad_16k_op15.ONNX', [8, 8], 'silero'],
  ['talk.wav', [0x52, 0x49, 0x46, 0x46], 'recording'],
  ['model.h5', [1, 2, 3], 'recording'],
  ['empty', [], 'recording'],
])('fileKind of %s', async (name, bytes, kind) => {
  expect(await fileKind(new File([Uint8Array.from(bytes)], name))).toBe(kind)
})
