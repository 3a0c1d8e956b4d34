import { codedRangeError, thrownMessage } from '@cudnn-rnn/canonical/rules'
import { readRegularFile, writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import { mixChannels, SAMPLE_RATE, wavFile } from '@cudnn-rnn/pretrained'
import wavefile from 'wavefile'

/**
 * A WAV file of any rate and bit depth, its channels mixed to one, as samples in -1..1 at {@link SAMPLE_RATE}.
 *
 * @throws RangeError `ERR_NOT_AUDIO` for another file, `ERR_NO_SAMPLES` for one without sound
 */
export async function readAudio(path: string): Promise<Float32Array> {
  const samples = mixChannels(decoded(path, new Uint8Array(await readRegularFile(path))))
  if (samples.length > 0) return samples
  throw codedRangeError('ERR_NO_SAMPLES', `Cannot read ${path} as it must hold sound: it has 0 samples`, { path })
}

/** Channels of equal length. */
function decoded(path: string, bytes: Uint8Array): readonly Float32Array[] {
  try {
    const wav = new wavefile.WaveFile(bytes)
    const { sampleRate } = wav.fmt as { sampleRate: number }
    wav.toBitDepth('32f')
    // The resampler fails on nothing at all.
    const isEmpty = (wav.data as { samples: Uint8Array }).samples.length === 0
    if (isEmpty) return []
    if (sampleRate !== SAMPLE_RATE) wav.toSampleRate(SAMPLE_RATE)
    const samples = wav.getSamples(false, Float32Array) as unknown as Float32Array | Float32Array[]
    return Array.isArray(samples) ? samples : [samples]
  } catch (cause) {
    const message = `Cannot read ${path} as it must be a WAV file: ${thrownMessage(cause).replace(/\.$/, '')}. Convert it first, as with: ffmpeg -i ${path} audio.wav`
    throw Object.assign(codedRangeError('ERR_NOT_AUDIO', message, { path }), { cause })
  }
}

/** Writes samples in -1..1 as a 16-bit WAV file. */
export async function writeAudio(path: string, samples: Float32Array): Promise<void> {
  await writeFileAtomic(path, wavFile(samples))
}
