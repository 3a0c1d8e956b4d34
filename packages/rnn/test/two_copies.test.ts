import { beforeAll, describe, expect, it, vi } from 'vitest'

type Rnn = typeof import('../src/index.js')

/** A program has two if it both imports and requires the package, or links another package that has a copy. */
describe('two copies of the packages', () => {
  let one: Rnn
  let other: Rnn
  const options = { numLayers: 1, numUnits: 4, inputSize: 3 }
  const x = { data: new Float32Array(6).fill(1), shape: [2, 1, 3] }

  beforeAll(async () => {
    one = await import('../src/index.js')
    vi.resetModules()
    other = await import('../src/index.js')
    expect(other.Variable).not.toBe(one.Variable)
  })

  it('run a network of one with the parameters of the other, recorded too', async () => {
    const backend = await one.openBackend('reference')
    const params = new one.CudnnLSTM(backend, options).createParams({ seed: 1 })
    const lstm = new other.CudnnLSTM(backend, options)
    const { output } = await lstm.run(params, x)
    expect(output.shape).toEqual([2, 1, 4])
    const differentiated = one.valueAndGrad(async (t, p: typeof params) => t.mean((await lstm.run(t, p, x)).output))
    const { gradients } = await differentiated(params)
    expect(gradients.shape).toEqual(params.shape)
    backend.dispose()
  })

  it('train, print and save a model of one with layers of the other', async () => {
    const train = async (layersOf: Rnn, modelOf: Rnn) => {
      const backend = await one.openBackend('reference')
      const { cudnnLSTM, dense, lastStep, dropout } = layersOf
      const layers = [cudnnLSTM({ numUnits: 4 }), dropout({ rate: 0.5 }), lastStep(), dense({ units: 1 })]
      const model = modelOf.sequential(backend, layers, { inputSize: 3, seed: 1 })
      const examples = [{ input: [[1, 2, 3]], label: 1 }]
      const fit = { loss: 'mean_squared_error', epochs: 2, batchSize: 1, progress: false } as const
      const { history } = await model.fit(examples, { ...fit, optimizer: new layersOf.Adam(model.variables) })
      const { data } = await model.predict(x)
      const onnx = await model.export('onnx')
      const text = model.summary()
      backend.dispose()
      return { history, data, text, onnx }
    }
    expect(await train(other, one)).toEqual(await train(one, one))
  })

  it('say that values of a model must be of one', async () => {
    const layers = await import('@cudnn-rnn/layers')
    vi.resetModules()
    const { apply } = await import('@cudnn-rnn/layers')
    const value = layers.input('x', { features: 2 })
    expect(() => apply(layers.dense({ units: 1 }), value)).toThrow(
      /of this copy of @cudnn-rnn\/layers: current value is a ModelValue/,
    )
  })
})
