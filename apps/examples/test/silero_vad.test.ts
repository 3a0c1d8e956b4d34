import { readFileSync } from 'node:fs'
import { openBackend } from '@cudnn-rnn/rnn'
import { expect, it } from 'vitest'
import { readAudio } from '../src/audio_file.js'
import { detectSpeech } from '../src/speech/speech_command.js'
import { describeWithModels, modelPath } from '../../../scripts/testing/trained_models.mjs'
import { largestDifference } from './reference_arrays.js'

const FOLDER = '1_silero_vad_v6.2'

describeWithModels('SileroVad', () => {
  it('gives the 1,875 probabilities of ONNX Runtime', async () => {
    const reference = JSON.parse(readFileSync(modelPath(`${FOLDER}/onnxruntime_reference.json`), 'utf8')) as {
      readonly probs: readonly number[]
    }
    const backend = await openBackend('auto')
    const samples = await readAudio(modelPath(`${FOLDER}/test.wav`))
    const { probabilities } = await detectSpeech(backend, modelPath(`${FOLDER}/silero_vad_16k_op15.onnx`), samples)
    backend.dispose()
    expect(probabilities).toHaveLength(1875)
    expect(largestDifference(probabilities, reference.probs)).toBeLessThanOrEqual(1e-4)
  })
})
