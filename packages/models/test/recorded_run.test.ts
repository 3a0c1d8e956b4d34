import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh } from '../src/index.js'

const [T, B, I] = [6, 2, 3] as const
const input = { data: Float64Array.from({ length: T * B * I }, (_, k) => Math.sin(k)), shape: [T, B, I] }
const part = (from: number, to: number) => ({
  data: input.data.slice(from * B * I, to * B * I),
  shape: [to - from, B, I],
})

describe.each([CudnnLSTM, CudnnGRU, CudnnRNNRelu, CudnnRNNTanh])('run of %o', (Model) => {
  test('continues from the state of the run before, and ends each row at its length', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const model = new (Model as typeof CudnnLSTM)(backend, { numLayers: 2, numUnits: 4, inputSize: I })
    const params = model.createParams({ seed: 1 })
    const before = backend.stats().tensors
    const whole = await model.run(params, input)
    const first = await model.run(params, part(0, 4))
    const second = await model.run(params, part(4, T), { state: first.state })
    const short = await model.run(params, input, { lengths: [4, 0] })
    const rows = async (tensor: { read(): Promise<{ data: ArrayLike<number> }> }) =>
      Array.from((await tensor.read()).data)
    expect([...(await rows(first.output)), ...(await rows(second.output))]).toEqual(await rows(whole.output))
    expect(await rows(second.state.h)).toEqual(await rows(whole.state.h))
    const [ofFirst, ofShort] = [await rows(first.state.h), await rows(short.state.h)]
    // [L,B,H]: row 0 of each layer is that after 4 steps, row 1 the initial zeros.
    expect(ofShort).toEqual(ofFirst.map((value, k) => (Math.floor(k / 4) % B === 0 ? value : 0)))
    expect('c' in whole.state).toBe(Model === CudnnLSTM)
    for (const { output, state } of [whole, first, second, short]) {
      for (const tensor of [output, ...Object.values(state)]) tensor?.dispose()
    }
    expect(backend.stats().tensors).toBe(before)
  })

  test('refuses unknown options, and a state that does not fit', async () => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    const model = new (Model as typeof CudnnLSTM)(backend, { numLayers: 1, numUnits: 4, inputSize: I })
    const params = model.createParams({ seed: 1 })
    const refused = (options: object, code: string) =>
      expect(model.run(params, input, options as never)).rejects.toThrow(coded(code))
    await refused({ sequenceLengths: [1, 2] }, 'ERR_UNKNOWN_OPTION')
    await refused({ state: { hidden: null } }, 'ERR_UNKNOWN_OPTION')
    await refused({ state: { h: { data: new Float64Array(4), shape: [1, 1, 4] } } }, 'ERR_SHAPE')
    await refused({ lengths: [7, 1] }, 'ERR_SEQUENCE_LENGTHS')
    const isSwapped = expect.objectContaining({
      code: 'ERR_NOT_A_TENSOR',
      message: expect.stringContaining('run(params, x)'),
    })
    await expect(model.run(input, params as never)).rejects.toEqual(isSwapped)
    await expect(model.run(params, input, { signal: AbortSignal.abort('stop') })).rejects.toBe('stop')
    const c = { data: new Float64Array(B * 4), shape: [1, B, 4] }
    if (Model !== CudnnLSTM) await refused({ state: { c } }, 'ERR_NO_CELL_STATE')
  })
})
