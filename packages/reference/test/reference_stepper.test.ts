import { createRnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { openReferenceBackend } from '../src/index.js'

const coded = (code: string) => expect.objectContaining({ code })

function openStepper(options: { numProj?: number; direction?: 'bidirectional' } = {}, batch = 3) {
  const backend = openReferenceBackend()
  const rnn = backend.rnn(
    createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 4, inputSize: 2, ...options }),
  )
  const params = { data: Float32Array.from({ length: rnn.paramsSize }, (_, i) => Math.sin(i)), shape: [rnn.paramsSize] }
  return { backend, stepper: rnn.stepper(params, batch) }
}

const input = (time: number, batch = 3): Tensor => ({
  data: Float32Array.from({ length: time * batch * 2 }, (_, i) => Math.cos(i)),
  shape: [time, batch, 2],
})

describe('ReferenceStepper', () => {
  it('steps one by one to what it reaches in one call', () => {
    const whole = openStepper().stepper.stepSync(input(5))
    const { stepper } = openStepper()
    const x = input(5)
    for (let t = 0; t < 5; t++) {
      const y = stepper.stepSync({ data: x.data.slice(t * 6, (t + 1) * 6), shape: [3, 2] })
      expect(y.shape).toEqual([3, 4])
      expect([...y.data]).toEqual([...whole.data.slice(t * 12, (t + 1) * 12)])
    }
  })

  it('zeroes single rows on reset and leaves the others as they are', () => {
    const { stepper } = openStepper({ numProj: 3 })
    stepper.stepSync(input(4))
    const before = stepper.state()
    stepper.reset([1])
    const after = stepper.state()
    for (const [state, columns] of [
      ['h', 3],
      ['c', 4],
    ] as const) {
      for (let layer = 0; layer < 2; layer++) {
        for (let row = 0; row < 3; row++) {
          const begin = (layer * 3 + row) * columns
          const values = [...after[state]!.data.slice(begin, begin + columns)]
          const kept = [...before[state]!.data.slice(begin, begin + columns)]
          expect(values).toEqual(row === 1 ? kept.map(() => 0) : kept)
        }
      }
    }
  })

  it('goes on from a restored state as from the one it was taken of', () => {
    const { stepper } = openStepper()
    stepper.stepSync(input(3))
    const state = stepper.state()
    const expected = stepper.stepSync(input(2))
    stepper.reset()
    stepper.restore(state)
    expect([...stepper.stepSync(input(2)).data]).toEqual([...expected.data])
  })

  it('refuses what does not fit, and then is as it was', () => {
    const { stepper } = openStepper()
    const before = stepper.state()
    expect(() => stepper.stepSync({ data: new Float32Array(4), shape: [2, 2] })).toThrow(coded('ERR_SHAPE'))
    expect(() => stepper.stepSync({ data: new Float64Array(6), shape: [3, 2] })).toThrow(coded('ERR_DTYPE'))
    const out = { data: new Float32Array(9), shape: [3, 3] }
    expect(() => stepper.stepSync({ data: new Float32Array(6), shape: [3, 2] }, out)).toThrow(coded('ERR_SHAPE'))
    expect(() => stepper.reset([0, 3])).toThrow(coded('ERR_STREAM_ROW'))
    expect(() => stepper.restore({ h: before.h, c: { data: new Float32Array(1), shape: [1] } })).toThrow(
      coded('ERR_SHAPE'),
    )
    expect(stepper.state()).toEqual(before)
    stepper.dispose()
    expect(() => stepper.stepSync(input(1))).toThrow(coded('ERR_STREAM_DISPOSED'))
  })

  it('refuses bidirectional networks and impossible batches', () => {
    expect(() => openStepper({ direction: 'bidirectional' })).toThrow(coded('ERR_BIDIRECTIONAL_STREAM'))
    expect(() => openStepper({}, 0)).toThrow(coded('ERR_INVALID_OPTION'))
  })
})
