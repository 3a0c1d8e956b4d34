import { mixChannels, SAMPLE_RATE } from '@cudnn-rnn/pretrained'

/**
 * An audio file of any format that the browser plays, its channels mixed to one and resampled to 16 kHz.
 *
 * @throws Error for another file, and for one without sound
 */
export async function decodeRecording(file: File): Promise<Float32Array> {
  const bytes = await file.arrayBuffer()
  // Decoded audio has the rate of its context.
  const context = new OfflineAudioContext(1, 1, SAMPLE_RATE)
  const audio = await context.decodeAudioData(bytes).catch((cause: unknown) => {
    const message = `Cannot read ${file.name}: it is neither audio that this browser plays, nor an ONNX file, nor HDF5 weights.`
    throw new Error(message, { cause })
  })
  if (audio.length === 0) throw new Error(`Cannot read ${file.name} as it has no samples.`)
  return mixChannels(Array.from({ length: audio.numberOfChannels }, (_, index) => audio.getChannelData(index)))
}
