import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { FRAME, readSileroWeights } from '@cudnn-rnn/pretrained'
import { type Backend, openBackend } from '@cudnn-rnn/rnn'
import { streamPoolOf } from '@cudnn-rnn/rnn/layers'
import { expect, it } from 'vitest'
import { bundleProgram } from '../../../../scripts/testing/bundle_program.mjs'
import { readAudio } from '../../src/audio_file.js'
import { SileroRows, shareSilero } from '../../src/speech/silero_rows.js'
import { openSpeechWorkers } from '../../src/voice_server/speech_workers.js'
import { VoiceServer } from '../../src/voice_server/voice_server.js'
import { describeWithModels, modelPath } from '../../../../scripts/testing/trained_models.mjs'
import { largestDifference } from '../reference_arrays.js'
import { VoiceClient } from './voice_client.js'

const FOLDER = '1_silero_vad_v6.2'
const WEIGHTS = modelPath(`${FOLDER}/silero_vad_16k_op15.onnx`)

async function openPool(backend: Backend, maxStreams: number) {
  const weights = await readSileroWeights(WEIGHTS)
  const shared = await shareSilero(backend, weights)
  return streamPoolOf(new SileroRows(backend, shared, weights.lstm.descriptor, maxStreams), { maxStreams })
}

describeWithModels('SileroRows', () => {
  const reference = () =>
    (JSON.parse(readFileSync(modelPath(`${FOLDER}/onnxruntime_reference.json`), 'utf8')) as { probs: number[] }).probs

  it('gives the probabilities of ONNX Runtime to streams that begin at different times', async () => {
    const backend = await openBackend('auto')
    const samples = await readAudio(modelPath(`${FOLDER}/test.wav`))
    const frame = (index: number) => ({ data: samples.slice(index * FRAME, (index + 1) * FRAME), shape: [FRAME] })
    // More than a block of rows, in blocks that are not full.
    using pool = await openPool(backend, 48)
    const [frames, starts] = [40, 48]
    const streams = Array.from({ length: starts }, () => pool.open())
    const actual: number[][] = streams.map(() => [])
    for (let time = 0; time < frames + starts; time++) {
      const active = streams.map((stream, start) => ({ stream, start, index: time - start }))
      await Promise.all(
        active
          .filter(({ index }) => index >= 0 && index < frames)
          .map(async ({ stream, start, index }) => actual[start].push((await stream.step(frame(index))).data[0])),
      )
    }
    const expected = reference().slice(0, frames)
    for (const probabilities of actual) expect(largestDifference(probabilities, expected)).toBeLessThanOrEqual(1e-4)
    expect(pool.stats().batchSize.max).toBe(frames)
    backend.dispose()
  })

  it('resets, reads and restores the state of one stream', async () => {
    const backend = await openBackend('auto')
    const samples = await readAudio(modelPath(`${FOLDER}/test.wav`))
    const frame = (index: number) => ({ data: samples.slice(index * FRAME, (index + 1) * FRAME), shape: [FRAME] })
    using pool = await openPool(backend, 2)
    const [one, other] = [pool.open(), pool.open()]
    for (let index = 0; index < 20; index++) void one.step(frame(index))
    const state = await one.state()
    const expected = (await one.step(frame(20))).data[0]
    one.reset()
    expect((await one.step(frame(0))).data[0]).toBeCloseTo(reference()[0], 4)
    other.restore(state)
    expect((await other.step(frame(20))).data[0]).toBeCloseTo(expected, 5)
    expect(expected).toBeCloseTo(reference()[20], 4)
    backend.dispose()
  })

  it('detects speech in worker threads of the server', async () => {
    const program = join(mkdtempSync(join(tmpdir(), 'cudnn-rnn-voice-')), 'voice_worker.mjs')
    await bundleProgram(fileURLToPath(new URL('../../src/voice_server/voice_worker.ts', import.meta.url)), program)
    const pool = await openSpeechWorkers({
      ...{ weights: WEIGHTS, workers: 2, maxStreams: 4, backend: 'reference' },
      program: pathToFileURL(program),
    })
    const server = new VoiceServer({ pool, maxRate: 100, maxBurst: 100 })
    try {
      const port = await server.listen(0)
      const wav = readFileSync(modelPath(`${FOLDER}/test.wav`))
      const [first, second] = [new VoiceClient(port, '?probabilities=1'), new VoiceClient(port)]
      await Promise.all([first.open(), second.open()])
      // Past the header of 44 bytes: 16-bit samples at 16 kHz.
      const seconds = 3
      for (let at = 44; at < 44 + seconds * 32_000; at += 16_000) {
        const message = wav.subarray(at, Math.min(at + 16_000, 44 + seconds * 32_000))
        first.send(message)
        second.send(message)
      }
      expect((await Promise.all([first.end(), second.end()])).map(({ code }) => code)).toEqual([1000, 1000])
      const probabilities = first.events
        .filter(({ type }) => type === 'probability')
        .map((event) => event['probability'])
      const expected = reference().slice(0, probabilities.length)
      expect(probabilities).toHaveLength(Math.floor((seconds * 16_000) / FRAME))
      expect(largestDifference(probabilities as number[], expected)).toBeLessThanOrEqual(1e-4)
      expect(second.events).toEqual(first.events.filter(({ type }) => type !== 'probability'))
      expect(second.events.some(({ type }) => type === 'speech_start')).toBe(expected.some((value) => value >= 0.5))
    } finally {
      await server.close(0)
    }
  })
})
