import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { OnnxRuntime } from '@cudnn-rnn/graphs'
import { cudnnGRU, dense, sequential } from '@cudnn-rnn/layers'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openModel } from '../src/index.js'

/** ONNX Runtime, if its binary is installed and loads. */
const ort = await import('onnxruntime-node').catch(() => undefined)

const fixture = (name: string) => new URL(`../../../fixtures/interop/${name}`, import.meta.url)
const x = { data: Float32Array.from({ length: 15 }, (_, k) => Math.sin(k)), shape: [5, 1, 3] }

it('opens a saved model and Keras files as models of layers', async () => {
  using backend = openReferenceBackend()
  using trained = sequential(backend, [cudnnGRU({ numUnits: 4 }), dense({ units: 2 })], { inputSize: 3, seed: 1 })
  const expected = (await trained.predict(x)).data
  const path = join(mkdtempSync(join(tmpdir(), 'open-model-')), 'final')
  await trained.save(path)
  const keras = (await trained.export('keras')) as Uint8Array<ArrayBuffer>
  for (const file of [path, pathToFileURL(path), keras, new Blob([keras])]) {
    using model = await openModel(file, { backend })
    const { data } = await model.predict(x)
    for (const [at, each] of expected.entries()) expect(data[at]).toBeCloseTo(each, 6)
  }
})

it.skipIf(ort === undefined)('opens an ONNX file as a graph (skipped without onnxruntime-node)', async () => {
  using backend = openReferenceBackend()
  using trained = sequential(backend, [cudnnGRU({ numUnits: 4 }), dense({ units: 2 })], { inputSize: 3, seed: 1 })
  const expected = (await trained.predict(x)).data
  const bytes = (await trained.export('onnx')) as Uint8Array<ArrayBuffer>
  using graph = await openModel(new Response(bytes), { ort: ort as OnnxRuntime })
  if ('predict' in graph) throw new Error('layers')
  const stream = graph.stream()
  for (let step = 0; step < 5; step++) {
    const { output } = await stream.run({ input: { data: x.data.slice(3 * step, 3 * step + 3), shape: [1, 1, 3] } })
    for (const [at, each] of Array.from(output?.data as Float32Array).entries())
      expect(each).toBeCloseTo(expected[2 * step + at] ?? Number.NaN, 5)
  }
  await expect(openModel(bytes)).rejects.toThrow(coded('ERR_NO_ONNX_RUNTIME'))
  await expect(openModel(bytes, { ort: {} as never })).rejects.toThrow(coded('ERR_INVALID_OPTION_TYPE'))
})

it('names the networks of a file of weights', async () => {
  for (const file of [fixture('guide/sine.pt'), new Uint8Array(readFileSync(fixture('guide/sine.pt')))])
    await expect(openModel(file)).rejects.toThrow(/of the networks model.memory \(lstm, 8 units\)/)
  await expect(openModel(fixture('guide/sine.pt'))).rejects.toThrow(coded('ERR_WEIGHTS_ALONE'))
  await expect(openModel(1 as never)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
})
