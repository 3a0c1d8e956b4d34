import { fileURLToPath } from 'node:url'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { importWeights, loadNetwork } from '../src/index.js'

const fixture = (name: string) => fileURLToPath(new URL(`../../../fixtures/interop/${name}`, import.meta.url))

it('loads the network of a file', async () => {
  using backend = openReferenceBackend()
  const { model, params, run } = await loadNetwork(backend, fixture('guide/sine.pt'))
  const x = { data: Float32Array.from({ length: 20 }, (_, t) => Math.sin(0.3 * t)), shape: [20, 1, 1] }
  const { output } = await model.run(params, x)
  expect((await output.read()).data).toEqual((await run(x)).output.data)
})

it('loads the network of a name, if the file has several', async () => {
  using backend = openReferenceBackend()
  const { networks } = await importWeights(fixture('guide/sine.onnx'))
  await expect(loadNetwork(backend, fixture('guide/sine.onnx'))).rejects.toThrow(coded('ERR_WEIGHTS_NOT_FOUND'))
  const { model } = await loadNetwork(backend, fixture('guide/sine.onnx'), { only: [networks[1]?.name ?? ''] })
  expect(model.descriptor).toEqual(networks[1]?.descriptor)
})
