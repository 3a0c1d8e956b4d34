import type { BackendTensor } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { type ClippingOptions, clipGradients } from '../../src/loop/clip_gradients.js'

/** The norm before and the gradients after, and whether anything but these was left. */
async function clipped(options: ClippingOptions, ...gradients: readonly (readonly number[])[]) {
  using backend = openReferenceBackend()
  const tensors = gradients.map((each) => backend.tensor({ data: Float32Array.from(each), shape: [each.length] }))
  const numbersOf = async (tensor: BackendTensor) => [...(await tensor.read()).data] as number[]
  const norm = clipGradients(backend, tensors, options)
  expect(norm.shape).toEqual([])
  expect(backend.stats().tensors).toBe(gradients.length + 1)
  return { norm: (await numbersOf(norm))[0], gradients: await Promise.all(tensors.map(numbersOf)) }
}

describe('clipGradients', () => {
  it('leaves the gradients without options, and gives their global norm', async () => {
    expect(await clipped({}, [3, -4], [12])).toEqual({ norm: 13, gradients: [[3, -4], [12]] })
  })

  it('limits each element by its value', async () => {
    expect(await clipped({ clipValue: 3.5 }, [3, -4], [12])).toEqual({ norm: 13, gradients: [[3, -3.5], [3.5]] })
  })

  it('scales all gradients down to a global norm, and none up to it', async () => {
    expect(await clipped({ clipNorm: 6.5 }, [3, -4], [12])).toEqual({ norm: 13, gradients: [[1.5, -2], [6]] })
    expect(await clipped({ clipNorm: 26 }, [3, -4], [12])).toEqual({ norm: 13, gradients: [[3, -4], [12]] })
  })

  it('limits by value before by norm, and gives the norm before both', async () => {
    // Values of at most 4 have the norm 5, which is halved.
    const { norm, gradients } = await clipped({ clipValue: 4, clipNorm: 2.5 }, [3, -8], [0])
    expect(norm).toBeCloseTo(Math.sqrt(73), 6)
    expect(gradients).toEqual([[1.5, -2], [0]])
  })

  it('has the norm 0 of no gradients', async () => {
    expect(await clipped({ clipNorm: 1 })).toEqual({ norm: 0, gradients: [] })
  })
})
