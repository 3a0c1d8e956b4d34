import { readFile } from 'node:fs/promises'
import { writeFileWhole } from '@cudnn-rnn/files'
import wavefile from 'wavefile'
import { codedRangeError } from './coded_error.js'

/** Both models take audio of 16 kHz, as wideband telephony has it. */
export const SAMPLE_RATE = 16_000

/**
 * A WAV file of any rate and bit depth, its channels mixed to one, as samples in -1..1 at {@link SAMPLE_RATE}.
 *
 * @throws RangeError `ERR_NOT_AUDIO` for another file, `ERR_NO_SAMPLES` for one without sound
 */
export async function readAudio(path: string): Promise<Float32Array> {
  const samples = mixed(decoded(path, new Uint8Array(await readFile(path))))
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
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `Cannot read ${path} as it must be a WAV file: ${reason.replace(/\.$/, '')}. Convert it first, as with: ffmpeg -i ${path} audio.wav`
    throw Object.assign(codedRangeError('ERR_NOT_AUDIO', message, { path }), { cause })
  }
}

/** The mean of the channels, so that speech in one of two channels is kept. */
function mixed(channels: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array(0)] = channels
  if (channels.length < 2) return first
  return first.map((_, n) => channels.reduce((sum, channel) => sum + channel[n], 0) / channels.length)
}

/** Writes samples in -1..1 as a 16-bit WAV file. */
export async function writeAudio(path: string, samples: Float32Array): Promise<void> {
  const wav = new wavefile.WaveFile()
  const integers = Int16Array.from(samples, (value) => Math.round(Math.max(-1, Math.min(1, value)) * 32767))
  wav.fromScratch(1, SAMPLE_RATE, '16', integers)
  await writeFileWhole(path, wav.toBuffer())
}
