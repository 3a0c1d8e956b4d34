import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import wavefile from 'wavefile'
import { readAudio, writeAudio } from '../src/audio_file.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'audio-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** A sine of amplitude 0.5. */
function tone(rate: number, seconds: number, frequency = 440): Float32Array {
  return Float32Array.from({ length: rate * seconds }, (_, n) => 0.5 * Math.sin((2 * Math.PI * frequency * n) / rate))
}

/** The amplitude of a frequency in a signal, for any phase. */
function amplitude(samples: Float32Array, frequency: number, rate: number): number {
  let [sine, cosine] = [0, 0]
  for (const [n, value] of samples.entries()) {
    sine += value * Math.sin((2 * Math.PI * frequency * n) / rate)
    cosine += value * Math.cos((2 * Math.PI * frequency * n) / rate)
  }
  return (2 * Math.hypot(sine, cosine)) / samples.length
}

async function wav(name: string, channels: Float32Array[], rate: number): Promise<string> {
  const file = new wavefile.WaveFile()
  file.fromScratch(channels.length, rate, '32f', channels.length === 1 ? channels[0] : channels)
  await writeFile(join(folder, name), file.toBuffer())
  return join(folder, name)
}

it('readAudio keeps speech that is in the right channel only', async () => {
  const voice = tone(16_000, 1)
  const path = await wav('right.wav', [new Float32Array(16_000), voice], 16_000)
  expect(await readAudio(path)).toEqual(voice.map((value) => value / 2))
})

it('readAudio resamples other rates to 16 kHz and keeps tones below 8 kHz', async () => {
  const samples = await readAudio(await wav('low.wav', [tone(48_000, 1)], 48_000))
  expect(samples).toHaveLength(16_000)
  // Amplitudes, not samples: wavefile maps the last sample to the last, which shifts later ones by up to 42 µs.
  expect(Math.abs(amplitude(samples, 440, 16_000) - 0.5)).toBeLessThan(0.005)
})

it('readAudio aliases no tone above 8 kHz', async () => {
  const samples = await readAudio(await wav('high.wav', [tone(48_000, 1, 10_000)], 48_000))
  expect(amplitude(samples, 6_000, 16_000)).toBeLessThan(0.0005)
})

it('writeAudio clips samples outside the range instead of wrapping them', async () => {
  const path = join(folder, 'loud.wav')
  await writeAudio(path, Float32Array.of(2, -2, 0.5))
  const samples = await readAudio(path)
  for (const [n, value] of [1, -1, 0.5].entries()) expect(Math.abs(samples[n] - value)).toBeLessThan(1e-4)
})

it('readAudio refuses a file without sound', async () => {
  const path = await wav('empty.wav', [new Float32Array(0)], 44_100)
  await expect(readAudio(path)).rejects.toMatchObject({ code: 'ERR_NO_SAMPLES', path })
})

it('readAudio refuses a file of another kind', async () => {
  const path = join(folder, 'model.h5')
  await writeFile(path, 'not a sound')
  await expect(readAudio(path)).rejects.toMatchObject({ code: 'ERR_NOT_AUDIO', path })
})

it('writeAudio replaces a file whole, refuses a path below one with a code, and leaves no temporary file', async () => {
  const path = await wav('kept.wav', [tone(16_000, 0.1)], 16_000)
  const before = await readFile(path)
  await writeAudio(path, tone(16_000, 0.2))
  expect(await readFile(path)).not.toEqual(before)
  await expect(writeAudio(join(path, 'below.wav'), tone(16_000, 0.1))).rejects.toMatchObject({
    code: 'ERR_OUTPUT_FILE',
  })
  expect((await readdir(folder)).filter((name) => name.endsWith('.tmp'))).toEqual([])
})
