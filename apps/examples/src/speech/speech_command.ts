import { writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import { FRAME, SAMPLE_RATE, SileroVad, speechProbabilities, speechSegments } from '@cudnn-rnn/pretrained'
import { htmlPage, lineChart } from '@cudnn-rnn/rnn/report'
import { type Backend, type BackendName, openBackend } from '@cudnn-rnn/rnn'
import { visibleText } from '@cudnn-rnn/canonical/rules'
import type { Command } from 'commander'
import { readAudio } from '../audio_file.js'
import { FrameClock } from '../frame_clock.js'

const SPEECH = 0.5

export function addSpeechCommand(program: Command): void {
  program
    .command('speech')
    .description('detect speech (Silero VAD)')
    .argument('<audio>', 'a WAV file')
    .requiredOption('--weights <file>', 'silero_vad_16k_op15.onnx of github.com/snakers4/silero-vad')
    .option('--out <page>', 'the page to write', 'speech.html')
    .option('--backend <name>', 'auto, cudnn, cpu, wasm or reference', 'auto')
    .action(async (audio: string, options: { weights: string; out: string; backend: string }) => {
      using backend = await openBackend(options.backend as BackendName)
      const samples = await readAudio(audio)
      const { probabilities, clock } = await detectSpeech(backend, options.weights, samples)
      const timing = `On ${backend.name}: ${clock.summary()}`
      await writeFileAtomic(options.out, speechPage(samples, probabilities, timing))
      for (const { from, to } of speechSegments(probabilities, FRAME / SAMPLE_RATE))
        process.stdout.write(`${from.toFixed(2)} s to ${to.toFixed(2)} s\n`)
      process.stdout.write(`${timing}\n${visibleText(options.out)}\n`)
    })
}

/** Runs a recording through the model of a file, and times its frames. */
export async function detectSpeech(backend: Backend, weights: string, samples: Float32Array) {
  using model = await SileroVad.open(backend, weights)
  const clock = new FrameClock(FRAME / SAMPLE_RATE)
  return { probabilities: await speechProbabilities(model, samples, (compute) => clock.time(compute)), clock }
}

function speechPage(samples: Float32Array, probabilities: readonly number[], timing: string): string {
  const seconds = (frame: number) => (frame * FRAME) / SAMPLE_RATE
  const loudest = samples.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9)
  const envelope = probabilities.map((_, frame) => {
    const part = samples.subarray(frame * FRAME, (frame + 1) * FRAME)
    const peak = part.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / loudest
    return { x: seconds(frame), low: 0.5 - peak / 2, high: 0.5 + peak / 2 }
  })
  const points = probabilities.map((y, frame) => ({ x: seconds(frame), y }))
  const share = probabilities.filter((probability) => probability >= SPEECH).length / Math.max(1, probabilities.length)
  const chart = lineChart({
    x: 'time in s',
    y: 'probability of speech',
    series: [{ label: 'probability of speech', color: 'var(--train)', points }],
    bands: envelope,
    rules: [{ y: SPEECH, text: 'speech from here' }],
  })
  return htmlPage({
    title: 'Voice activity',
    // The waveform is drawn behind the curve.
    style: ':root { --band: color-mix(in srgb, var(--baseline) 45%, transparent); }',
    resultHtml: `<b>${(100 * share).toFixed(1)} %</b> of ${seconds(probabilities.length).toFixed(1)} s is speech. ${timing}`,
    sections: [{ heading: 'Probability over the waveform', html: chart }],
  })
}
