import { readFile, writeFile } from 'node:fs/promises'
import wavefile from 'wavefile'

/** Both models hear 16 kHz, as telephones with wideband voice do. */
export const SAMPLE_RATE = 16_000

/** The first channel of a WAV file of any rate and bit depth, as samples in -1..1 at {@link SAMPLE_RATE}. */
export async function readAudio(path: string): Promise<Float32Array> {
  const wav = new wavefile.WaveFile(new Uint8Array(await readFile(path)))
  wav.toBitDepth('32f')
  if ((wav.fmt as { sampleRate: number }).sampleRate !== SAMPLE_RATE) wav.toSampleRate(SAMPLE_RATE)
  const samples = wav.getSamples(false, Float32Array) as unknown as Float32Array | Float32Array[]
  return Array.isArray(samples) ? samples[0]! : samples
}

/** Writes samples in -1..1 as a 16-bit WAV file. */
export async function writeAudio(path: string, samples: Float32Array): Promise<void> {
  const wav = new wavefile.WaveFile()
  const integers = Int16Array.from(samples, (value) => Math.round(Math.max(-1, Math.min(1, value)) * 32767))
  wav.fromScratch(1, SAMPLE_RATE, '16', integers)
  await writeFile(path, wav.toBuffer())
}
