import { writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import { BLOCK, Dtln, denoise, hannWindow, RealFourier, SAMPLE_RATE, SHIFT } from '@cudnn-rnn/pretrained'
import { htmlPage } from '@cudnn-rnn/rnn/report'
import { type Backend, type BackendName, openBackend } from '@cudnn-rnn/rnn'
import { visibleText } from '@cudnn-rnn/canonical/rules'
import type { Command } from 'commander'
import { readAudio, writeAudio } from '../audio_file.js'
import { FrameClock } from '../frame_clock.js'
import { spectrogramChart } from './spectrogram_picture.js'

export function addDenoiseCommand(program: Command): void {
  program
    .command('denoise')
    .description('take the noise out of speech, in real time (DTLN)')
    .argument('<audio>', 'a WAV file')
    .requiredOption('--weights <file>', 'pretrained_model/model.h5 of github.com/breizhn/DTLN')
    .option('--out <file>', 'the clean WAV file; a page with the same name shows both', 'denoised.wav')
    .option('--backend <name>', 'auto, cudnn, cpu, wasm or reference', 'auto')
    .action(async (audio: string, options: { weights: string; out: string; backend: string }) => {
      using backend = await openBackend(options.backend as BackendName)
      const noisy = await readAudio(audio)
      const { samples, clock } = await denoiseRecording(backend, options.weights, noisy)
      await writeAudio(options.out, samples)
      const page = `${options.out.replace(/\.wav$/i, '')}.html`
      await writeFileAtomic(page, denoisePage(noisy, samples, `On ${backend.name}: ${clock.summary()}`))
      process.stdout.write(
        `On ${backend.name}: ${clock.summary()}\n${visibleText(options.out)}\n${visibleText(page)}\n`,
      )
    })
}

/** Runs a recording through the model of a file, and times its frames. */
export async function denoiseRecording(backend: Backend, weights: string, noisy: Float32Array) {
  using model = await Dtln.open(backend, weights)
  const clock = new FrameClock(SHIFT / SAMPLE_RATE)
  return { samples: await denoise(model, noisy, (compute) => clock.time(compute)), clock }
}

function denoisePage(noisy: Float32Array, clean: Float32Array, timing: string): string {
  const [before, after] = [spectrogram(noisy), spectrogram(clean)]
  const loudest = Math.max(...before.map((column) => Math.max(...column)))
  const seconds = noisy.length / SAMPLE_RATE
  return htmlPage({
    title: 'Speech without its noise',
    resultHtml: `${seconds.toFixed(1)} s at 16 kHz. ${timing}`,
    sections: [
      {
        heading: 'Before',
        html: spectrogramChart(before, { title: 'Spectrogram of the recording', seconds, loudest }),
      },
      { heading: 'After', html: spectrogramChart(after, { title: 'Spectrogram without noise', seconds, loudest }) },
      {
        heading: 'How to read it',
        html: '<p>Brighter is louder; both pictures have one scale, in which 0 dB is the loudest point of the recording. Noise is a haze over all frequencies, voice the bands in it.</p>',
      },
    ],
  })
}

/** Wide enough for a page; longer recordings leave frames out. */
const WIDEST = 1200
/** Keeps the level of silence finite. */
const SILENCE = 1e-6

/** Levels in dB, frame by frame [frames × bins]. */
function spectrogram(samples: Float32Array): readonly Float32Array[] {
  const fourier = new RealFourier(BLOCK)
  const window = hannWindow(BLOCK)
  const frames = Math.max(1, Math.min(WIDEST, Math.floor(samples.length / BLOCK)))
  const step = Math.max(1, (samples.length - BLOCK) / frames)
  return Array.from({ length: frames }, (_, frame) => {
    const start = Math.floor(frame * step)
    const windowed = window.map((weight, n) => weight * (samples[start + n] ?? 0))
    return fourier.magnitudes(fourier.transform(windowed)).map((magnitude) => 20 * Math.log10(magnitude + SILENCE))
  })
}
