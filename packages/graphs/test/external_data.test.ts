import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { type GraphTensor, openGraph } from '../src/index.js'
import { describeWithRuntime, ort } from './onnxruntime.js'

// lstm_external.onnx: lstm.onnx with W and B in a file beside it.
const fixture = (name: string) => fileURLToPath(new URL(`../../../fixtures/interop/onnx/${name}`, import.meta.url))
const DATA = 'lstm_external.onnx.data'

/** A runtime that takes any model and runs none. */
const create = async () => ({ run: async () => ({}), release: async () => undefined })
const unused = { InferenceSession: { create }, Tensor: class {} }

/** A copy of the model in a new folder, with texts replaced by others of the same length. */
async function changedModel(changes: readonly (readonly [string, string])[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'graphs-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  let model = await readFile(fixture('lstm_external.onnx'), 'latin1')
  for (const [from, to] of changes) model = model.replaceAll(from, to)
  await copyFile(fixture(DATA), join(folder, DATA))
  await writeFile(join(folder, 'model.onnx'), model, 'latin1')
  return join(folder, 'model.onnx')
}

describeWithRuntime('a graph with tensors in a file beside it', () => {
  it('has the numbers of one in one file, and is written as one file', async () => {
    using within = await openGraph(fixture('lstm.onnx'), { ort })
    using beside = await openGraph(fixture('lstm_external.onnx'), { ort })
    using written = await openGraph(beside.toBytes(), { ort })
    const [input] = within.inputs
    const shape = (input?.shape ?? []).map((size) => (typeof size === 'number' ? size : 2))
    const data = Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => Math.sin(k))
    const numbers = async (graph: typeof within) => {
      const results: GraphTensor[] = Object.values(await graph.run({ [input!.name]: { data, shape } }))
      return results.map((result) => Array.from(result.data as Float32Array))
    }
    const expected = await numbers(within)
    expect(expected.flat().some((value) => value !== 0)).toBe(true)
    expect(await numbers(beside)).toEqual(expected)
    expect(await numbers(written)).toEqual(expected)
  })
})

it.each([['../outside_of_the_model'], ['/etc/././././././passwd'], ['a/../../../../etc/passw']])(
  'tensors at the place %s are refused',
  async (place) => {
    const path = await changedModel([[DATA, place]])
    await expect(openGraph(path, { ort: unused })).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_CORRUPT',
      message: expect.stringContaining('must be in its own folder'),
    })
  },
)

it.each([
  ['no such file', [DATA, 'lstm_external.onnx.dat_'], 'ERR_WEIGHTS_NOT_FOUND'],
  ['a length beyond the file', ['192', '999'], 'ERR_WEIGHTS_CORRUPT'],
  ['a length that is not the shape', ['192', '188'], 'ERR_WEIGHTS_CORRUPT'],
] as const)('tensors with %s are refused', async (_, change, code) => {
  await expect(openGraph(await changedModel([change]), { ort: unused })).rejects.toMatchObject({ code })
})

it('a model with tensors in a file beside it needs its path', async () => {
  const bytes = await readFile(fixture('lstm_external.onnx'))
  await expect(openGraph(bytes, { ort: unused })).rejects.toThrow(/Give its path/)
})
