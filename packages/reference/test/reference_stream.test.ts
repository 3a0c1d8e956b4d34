import { createRnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { openReferenceBackend } from '../src/index.js'

function openStepper(options: { numProj?: number } = {}) {
  const rnn = openReferenceBackend().rnn(
    createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 4, inputSize: 2, ...options }),
  )
  const params = { data: Float32Array.from({ length: rnn.paramsSize }, (_, i) => Math.sin(i)), shape: [rnn.paramsSize] }
  return { stepper: rnn.stepper(params, 3) }
}

const input = (time: number): Tensor => ({
  data: Float32Array.from({ length: time * 3 * 2 }, (_, i) => Math.cos(i)),
  shape: [time, 3, 2],
})

describe('ReferenceStream', () => {
  it('gives the same in single steps as in one call', () => {
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

  it('continues from a restored state as from the original', () => {
    const { stepper } = openStepper()
    stepper.stepSync(input(3))
    const state = stepper.state()
    const expected = stepper.stepSync(input(2))
    stepper.reset()
    stepper.restore(state)
    expect([...stepper.stepSync(input(2)).data]).toEqual([...expected.data])
  })
})
