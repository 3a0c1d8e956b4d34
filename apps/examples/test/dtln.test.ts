import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Dtln } from '@cudnn-rnn/pretrained'
import { openBackend, type Tensor } from '@cudnn-rnn/rnn'
import { Philox } from '@cudnn-rnn/rnn/executors'
import { expect, it, onTestFinished, vi } from 'vitest'
import { readAudio, writeAudio } from '../src/audio_file.js'
import { denoiseRecording } from '../src/denoise/denoise_command.js'
import { createProgram } from '../src/program.js'
import { describeWithModels, modelPath } from '../../../scripts/testing/trained_models.mjs'
import { largestDifference, referenceArray } from './reference_arrays.js'

const WEIGHTS = '2_dtln/model.h5'

describeWithModels('Dtln', () => {
  it('follows 100 streaming frames of ONNX Runtime through both halves', async () => {
    const array = (name: string) => referenceArray('2_dtln/onnxruntime_reference.npz', name)
    const backend = await openBackend('auto')
    const model = await Dtln.open(backend, modelPath(WEIGHTS))
    const [x1, y1, x2, y2] = await Promise.all(['m1_X', 'm1_Y', 'm2_X', 'm2_Y'].map(array))
    let worst = 0
    for (let frame = 0; frame < 100; frame++) {
      const row = ({ data, shape }: Tensor<Float32Array>) => data.slice(frame * shape[1], (frame + 1) * shape[1])
      worst = Math.max(worst, largestDifference(await model.magnitudeMask(row(x1)), row(y1)))
      worst = Math.max(worst, largestDifference(await model.refine(row(x2)), row(y2)))
    }
    model.dispose()
    backend.dispose()
    expect(worst).toBeLessThanOrEqual(1e-5)
  })

  it('takes white noise out of speech', async () => {
    const clean = (await readAudio(modelPath('1_silero_vad_v6.2/test.wav'))).slice(0, 48_000)
    const random = new Philox(1)
    const noise = clean.map(() => 0.05 * (2 * random.uniform() - 1))
    const noisy = clean.map((value, n) => value + noise[n])
    const backend = await openBackend('auto')
    const { samples } = await denoiseRecording(backend, modelPath(WEIGHTS), noisy)
    backend.dispose()
    const power = (values: Float32Array) => values.reduce((sum, value) => sum + value * value, 0)
    const error = power(samples.map((value, n) => value - clean[n]))
    expect(error / power(noise)).toBeLessThan(0.5)
  })

  it('runs as a command from a WAV file to a WAV file and a page with both spectrograms', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'denoise-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const recording = join(folder, 'noisy.wav')
    await writeAudio(recording, (await readAudio(modelPath('1_silero_vad_v6.2/test.wav'))).slice(0, 8_000))
    const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
    const out = join(folder, 'clean.wav')
    const options = ['--weights', modelPath(WEIGHTS), '--out', out]
    await createProgram().parseAsync(['denoise', recording, ...options], { from: 'user' })
    const text = printed.mock.calls.join('')
    printed.mockRestore()
    expect(text).toMatch(/real-time factor \d.*per frame of 8 ms: .* ms median/)
    expect(await readAudio(out)).toHaveLength(8_000)
    const page = await readFile(join(folder, 'clean.html'), 'utf8')
    expect(page.match(/data:image\/png;base64,/g)).toHaveLength(2)
    expect(page).toContain('frequency in kHz')
  })
})
