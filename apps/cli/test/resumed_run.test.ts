import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { metricsLine } from '@cudnn-rnn/rnn/train'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { checkpointPrefix } from '../src/checkpoint_path.js'
import { checkNothingSaved, checkSteps, skippedText } from '../src/resumed_run.js'
import { temporaryDirectory } from './small_run.js'

it('skippedText names the checkpoint without its directory, and the reason', () => {
  const skipped = { path: '/runs/a/model-12', code: 'ERR_CHECKPOINT_CORRUPT', message: 'a checksum is wrong' }
  expect(skippedText(skipped)).toBe('model-12 was passed over [ERR_CHECKPOINT_CORRUPT]: a checksum is wrong')
})

it('checkSteps refuses fewer steps than the run has done', () => {
  expect(() => checkSteps('runs/a', 5, 5)).not.toThrow()
  expect(() => checkSteps('runs/a', 6, 5)).toThrow(coded('ERR_STEPS_DONE', { step: 6, maxSteps: 5 }))
})

describe('checkNothingSaved', () => {
  /** Metrics of steps 1, 2, …, of which those in `evaluated` were evaluated. */
  async function metrics(steps: number, evaluated: readonly number[]): Promise<string> {
    const path = join(await temporaryDirectory(), 'metrics.jsonl')
    const lines = Array.from({ length: steps }, (_, k) =>
      metricsLine({
        ...{ step: k + 1, loss: 1, learningRate: 0.1, gradientNorm: 1, skipped: false, seconds: 0 },
        ...(evaluated.includes(k + 1) && { metrics: { loss: 1 } }),
      }),
    )
    await writeFile(path, lines.map((line) => `${line}\n`).join(''))
    return path
  }

  it.each([
    ['no step was logged', 0, []],
    ['no step was evaluated', 3, []],
    ['the process ended between the first evaluation and its save', 4, [4]],
  ])('passes where %s', async (_, steps, evaluated) => {
    const path = await metrics(steps, evaluated)
    await expect(checkNothingSaved('runs/a', path)).resolves.toBeUndefined()
  })

  it('refuses to start over where a step follows an evaluation, which was saved', async () => {
    const path = await metrics(5, [4])
    await expect(checkNothingSaved('runs/a', path)).rejects.toMatchObject(
      coded('ERR_NO_WHOLE_CHECKPOINT', { directory: 'runs/a' }),
    )
  })
})

describe('checkpointPrefix', () => {
  it.each(['model-3', 'model-3.index', 'model-3.meta', 'model-3.data-00001-of-00002'])(
    'of %s is model-3',
    async (file) => {
      const directory = await temporaryDirectory()
      expect(await checkpointPrefix(join(directory, file))).toBe(join(directory, 'model-3'))
    },
  )

  it('refuses a directory without a checkpoint', async () => {
    const path = await temporaryDirectory()
    await expect(checkpointPrefix(path)).rejects.toThrow(coded('ERR_NO_CHECKPOINT', { path }))
  })
})
