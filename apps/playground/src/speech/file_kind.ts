export type SpeechModel = 'silero' | 'dtln'

/** The first bytes of an HDF5 file, as Keras writes. */
const HDF5 = [0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a]

/** The model whose weights a file may have, by its first bytes and its ending; a recording otherwise. */
export async function fileKind(file: File): Promise<SpeechModel | 'recording'> {
  const begin = new Uint8Array(await file.slice(0, HDF5.length).arrayBuffer())
  if (HDF5.every((byte, index) => begin[index] === byte)) return 'dtln'
  return /\.onnx$/i.test(file.name) ? 'silero' : 'recording'
}
