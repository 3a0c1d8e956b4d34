import { openBackend, type Tensor } from '@cudnn-rnn/rnn'
import { expect, it } from 'vitest'
import { readAudio } from '../src/audio_file.js'
import { denoise } from '../src/denoise/denoise_command.js'
import { Dtln } from '../src/denoise/dtln.js'
import { describeWithModels, largestDifference, modelPath, referenceArray } from './trained_models.js'

const WEIGHTS = '2_dtln/model.h5'

describeWithModels('Dtln', () => {
  it('follows 100 streaming frames of ONNX Runtime through both halves', async () => {
    const array = (name: string) => referenceArray('2_dtln/onnxruntime_reference.npz', name)
    const backend = await openBackend('auto')
    const model = await Dtln.open(backend, modelPath(WEIGHTS))
    const [x1, y1, x2, y2] = await Promise.all(['m1_X', 'm1_Y', 'm2_X', 'm2_Y'].map(array))
    let worst = 0
    for (let frame = 0; frame < 100; frame++) {
      const row = ({ data, shape }: Tensor<Float32Array>) => data.slice(frame * shape[1]!, (frame + 1) * shape[1]!)
      worst = Math.max(worst, largestDifference(await model.magnitudeMask(row(x1!)), row(y1!)))
      worst = Math.max(worst, largestDifference(await model.refine(row(x2!)), row(y2!)))
    }
    model.dispose()
    backend.dispose()
    expect(worst).toBeLessThanOrEqual(1e-5)
  })

  it('takes white noise out of speech', async () => {
    const clean = (await readAudio(modelPath('1_silero_vad_v6.2/test.wav'))).slice(0, 48_000)
    let state = 1
    const noise = clean.map(() => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return 0.05 * (state / 2 ** 31 - 1)
    })
    const noisy = clean.map((value, n) => value + noise[n]!)
    const backend = await openBackend('auto')
    const { samples } = await denoise(backend, modelPath(WEIGHTS), noisy)
    backend.dispose()
    const power = (values: Float32Array) => values.reduce((sum, value) => sum + value * value, 0)
    const error = power(samples.map((value, n) => value - clean[n]!))
    expect(error / power(noise)).toBeLessThan(0.5)
  })
})
