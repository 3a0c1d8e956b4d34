import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importWeights, openBackend, type LayersModel } from '@cudnn-rnn/rnn'
import { importKeras } from '@cudnn-rnn/rnn/layers'
import { loadForecaster, loadTextClassifier } from '@cudnn-rnn/rnn/tasks'
import { describe, expect, it } from 'vitest'
import { restoreModel } from '../src/character/training_run.js'
import { run } from './program_run.js'
import { SMALL_FORECAST, temporaryDirectory, writeSmallText } from './small_run.js'

type Reference = Awaited<ReturnType<typeof openBackend>>

interface ExportedTask {
  readonly train: (directory: string) => Promise<readonly string[]>
  readonly open: (backend: Reference, run: string) => Promise<LayersModel>
  readonly missing: string
}

const TASKS: Readonly<Record<string, ExportedTask>> = {
  'a character model': {
    async train(directory) {
      const sizes = '--units 6 --embedding 4 --batch 3 --time 6 --steps 4'.split(' ')
      return ['train', '--text', await writeSmallText(directory), ...sizes]
    },
    open: async (backend, path) => (await restoreModel(path, backend)).model,
    missing: 'the characters of the class ids',
  },
  'a classifier': {
    async train(directory) {
      const texts = Array.from({ length: 60 }, (_, k) =>
        k % 2 === 0 ? `win money ${k % 7} now,spam` : `see you at lunch ${k % 5},ham`,
      )
      const path = join(directory, 'mail.csv')
      await writeFile(path, `text,label\n${texts.join('\n')}\n`)
      return ['classify', '--csv', path, '--steps', '4', '--units', '4']
    },
    open: async (backend, path) => (await loadTextClassifier(backend, path)).model,
    missing: 'the words of the class ids',
  },
  'a forecaster': {
    async train(directory) {
      const path = join(directory, 'wave.csv')
      const rows = Array.from({ length: 150 }, (_, k) => (5 * Math.sin(k) + (k % 3)).toFixed(3))
      await writeFile(path, `value\n${rows.join('\n')}\n`)
      return ['forecast', '--csv', path, ...SMALL_FORECAST, '--steps', '4']
    },
    open: async (backend, path) => (await loadForecaster(backend, path)).model,
    missing: 'the linear regressions that the network corrects',
  },
}

describe.each(Object.entries(TASKS))('export of the run of %s', (_, { train, open, missing }) => {
  it('writes the whole model as model.export does, and names the parts that no file has', async () => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    expect((await run(...(await train(directory)), '--out', out)).exitCode).toBe(0)
    using backend = await openBackend('reference')
    using model = await open(backend, out)
    const escaped = out.replaceAll('\\', '\\\\')
    for (const format of ['onnx', 'keras'] as const) {
      const { exitCode, stdout } = await run('export', out, '--format', format)
      expect({ exitCode, stdout }).toEqual({
        exitCode: 0,
        stdout: expect.stringMatching(`^${escaped}.${format}: the whole model\nNot in the file: ${missing}`),
      })
    }
    expect(new Uint8Array(await readFile(`${out}.onnx`))).toEqual(await model.export('onnx'))
    using again = await importKeras(backend, `${out}.keras`)
    const { isSequence, features } = model.input
    expect(again.input).toMatchObject({ isSequence, features })
    const size = features ?? 1
    const data = Float32Array.from({ length: 12 * size }, (_, k) => (features === null ? k % 4 : Math.sin(k)))
    const input = features === null ? { data: Int32Array.from(data), shape: [6, 2] } : { data, shape: [6, 2, size] }
    const [before, after] = [await model.predict(input), await again.predict(input)]
    expect(after.shape).toEqual(before.shape)
    for (const [k, value] of after.data.entries()) expect(value).toBeCloseTo(before.data[k] ?? 9, 6)
    for (const format of ['safetensors', 'npz', 'flax'] as const) {
      const { exitCode, stdout } = await run('export', out, '--format', format)
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining('Not in the file: ') })
    }
    expect((await importWeights(`${out}.safetensors`)).networks).toHaveLength(1)
    const states = await run(
      'export',
      out,
      '--format',
      'onnx',
      '--network',
      (await importWeights(`${out}.safetensors`)).networks[0]?.name ?? '',
      '--out',
      join(directory, 'states.onnx'),
    )
    expect(states.exitCode).toBe(0)
  })
})
