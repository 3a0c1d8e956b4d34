import { existsSync, statSync } from 'node:fs'
import { type ByteSource, memorySource, openFileSource } from '@cudnn-rnn/checkpoint'
import { detectFormat, detectZip } from './detect_format.js'
import { WeightFileError } from './errors.js'
import { openFlax } from './files/flax_file.js'
import { openKerasArchive, openKerasH5 } from './files/keras_files.js'
import { openOnnx } from './files/onnx_file.js'
import { openSafetensors } from './files/safetensors_reader.js'
import { openTensorflow } from './files/tensorflow_file.js'
import { openTorchZip } from './files/torch_zip_file.js'
import type { WeightFile, WeightFormat } from './weight_file.js'

/** A file to read: its path (of a TensorFlow checkpoint its prefix or directory), its bytes, or random access to it (a browser's `File` by `blobSource`). */
export type WeightInput = string | Uint8Array | ByteSource

/**
 * Opens a weight file and lists its tensors; close it after use.
 *
 * @param format where the file's first bytes need not be asked.
 * @throws WeightFileError
 */
export async function openWeightFile(input: WeightInput, format?: WeightFormat): Promise<WeightFile> {
  if (typeof input === 'string') {
    const isDirectory = statSync(input, { throwIfNoEntry: false })?.isDirectory() === true
    if (format === 'tensorflow' || isDirectory || existsSync(`${input}.index`))
      return openTensorflow(input, isDirectory)
  }
  const source = await sourceOf(input)
  try {
    return await open(source, format ?? (await detectFormat(source)), typeof input === 'string')
  } catch (error) {
    await source.close()
    throw error
  }
}

async function open(source: ByteSource, format: WeightFormat | 'zip', isPath: boolean): Promise<WeightFile> {
  const { name: path } = source
  if (format === 'safetensors') return openSafetensors(source)
  if (format === 'onnx') return openOnnx(source, isPath)
  if (format === 'flax') return openFlax(source)
  if (format === 'keras-h5') return openKerasH5(source, isPath)
  // Zip archives need a library, which is loaded with the first of them.
  const { openZip } = await import('./files/zip_archive.js')
  const entries = await openZip(source)
  const inner = format === 'zip' ? detectZip(path, entries) : format
  const close = () => source.close()
  if (inner === 'npz') return (await import('./files/npz_file.js')).openNpz(path, entries, close)
  if (inner === 'keras-archive') return openKerasArchive(path, entries, close)
  return openTorchZip(path, entries, close)
}

async function sourceOf(input: WeightInput): Promise<ByteSource> {
  if (input instanceof Uint8Array) return memorySource('(bytes)', input)
  if (typeof input !== 'string') return input
  const source = await openFileSource(input)
  if (source !== undefined) return source
  throw new WeightFileError('ERR_WEIGHTS_NOT_FOUND', 'Cannot import weights as there is no such file', { path: input })
}
