import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { type BatchResult, Sgd } from '../../src/index.js'
import { type TrainingStepOptions, trainingStep } from '../../src/loop/training_step.js'

const RATE = 0.5

/** One variable [2] of ones under plain gradient descent; the batches are numbers, `result` gives loss and gradients of one. */
function task(result: (batch: number, of: ReturnType<typeof openReferenceBackend>) => Omit<BatchResult, 'weight'>) {
  const backend = openReferenceBackend()
  const value = backend.tensor({ data: Float32Array.of(1, 1), shape: [2] })
  const optimizer = new Sgd([{ name: 'x', backend, value }])
  const options: TrainingStepOptions<number> = {
    optimizer,
    batchGradients: async (batch) => ({ ...result(batch, backend), weight: batch }),
  }
  const elements = async () => [...(await value.read()).data]
  return { backend, optimizer, options, elements }
}

const gradient = (backend: ReturnType<typeof openReferenceBackend>, ...elements: number[]) =>
  backend.tensor({ data: Float32Array.from(elements), shape: [elements.length] })

/** `backend` as one with `Backend.steps`, which queues nothing. */
function withSteps(backend: Backend): Backend {
  return {
    ...{ name: backend.name, reason: backend.reason, dtype: backend.dtype, ops: backend.ops },
    steps: { run: (step) => step(), whereFinite: (_, updates) => updates() },
    tensor: (host) => backend.tensor(host),
    zeros: (shape, options) => backend.zeros(shape, options),
    owns: (tensor) => backend.owns(tensor),
    rnn: (descriptor) => backend.rnn(descriptor),
    stats: () => backend.stats(),
    dispose: () => backend.dispose(),
    [Symbol.dispose]: () => backend.dispose(),
  }
}

describe('trainingStep', () => {
  it('updates by the weighted mean of the batches, and reports mean loss and norm', async () => {
    // Weights 1 and 3: the mean gradient is [3, 4], the mean loss 7.
    const { backend, options, optimizer, elements } = task((batch, device) => ({
      loss: batch === 1 ? 4 : 8,
      gradients: [gradient(device, ...(batch === 1 ? [12, 16] : [0, 0]))],
    }))
    const before = backend.stats().tensors
    const { outcome, isKnown } = await trainingStep(options, [1, 3], RATE)
    expect(isKnown).toBe(true)
    expect(await outcome()).toEqual({ loss: 7, gradientNorm: 5, skipped: false })
    expect(await elements()).toEqual([1 - RATE * 3, 1 - RATE * 4])
    expect([optimizer.step, backend.stats().tensors]).toEqual([1, before])
    backend.dispose()
  })

  it('reads a loss on the executor', async () => {
    const { backend, options } = task((_, device) => ({
      loss: device.tensor({ data: Float32Array.of(2.5), shape: [] }),
      gradients: [gradient(device, 0, 1)],
    }))
    const before = backend.stats().tensors
    expect(await (await trainingStep(options, [1], RATE)).outcome()).toMatchObject({ loss: 2.5 })
    expect(backend.stats().tensors).toBe(before)
    backend.dispose()
  })

  it('reports the norm before clipping, and updates by the clipped gradients', async () => {
    const { backend, options, elements } = task((_, device) => ({ loss: 1, gradients: [gradient(device, 6, -8)] }))
    const clipped = { ...options, clipNorm: 5 }
    expect(await (await trainingStep(clipped, [1], RATE)).outcome()).toMatchObject({ gradientNorm: 10 })
    const [first, second] = await elements()
    expect(first).toBeCloseTo(1 - RATE * 3, 6)
    expect(second).toBeCloseTo(1 + RATE * 4, 6)
    backend.dispose()
  })

  it.each([
    ['a NaN loss', Number.NaN, 1],
    ['an infinite loss', Number.POSITIVE_INFINITY, 1],
    ['a NaN gradient', 1, Number.NaN],
    ['an infinite gradient', 1, Number.NEGATIVE_INFINITY],
  ])('skips the update of %s, and leaves variable and count as they are', async (_, loss, element) => {
    const { backend, options, optimizer, elements } = task((_batch, device) => ({
      loss,
      gradients: [gradient(device, element, element)],
    }))
    const before = backend.stats().tensors
    expect(await (await trainingStep(options, [2], RATE)).outcome()).toMatchObject({ skipped: true })
    expect([optimizer.step, ...(await elements())]).toEqual([0, 1, 1])
    expect(backend.stats().tensors).toBe(before)
    backend.dispose()
  })

  it('takes batches of weight 0 alone as an update of 0', async () => {
    const { backend, options, elements } = task((_, device) => ({ loss: 3, gradients: [gradient(device, 0, 0)] }))
    expect(await (await trainingStep(options, [0], RATE)).outcome()).toEqual({
      loss: 3,
      gradientNorm: 0,
      skipped: false,
    })
    expect(await elements()).toEqual([1, 1])
    backend.dispose()
  })

  it('disposes the gradients of earlier batches where a later one fails', async () => {
    const { backend, options, optimizer, elements } = task((batch, device) => {
      if (batch === 3) throw new Error('no memory')
      return { loss: device.zeros([]), gradients: [gradient(device, 1, 1)] }
    })
    const before = backend.stats().tensors
    await expect(trainingStep(options, [1, 2, 3], RATE)).rejects.toThrow('no memory')
    expect([optimizer.step, backend.stats().tensors]).toEqual([0, before])
    expect(await elements()).toEqual([1, 1])
    backend.dispose()
  })

  it.each<[string, number[][], string]>([
    ['another number of gradients', [[1, 1], [1]], 'ERR_GRADIENT_COUNT'],
    ['another shape', [[1, 1, 1]], 'ERR_SHAPE'],
  ])('refuses %s than of the variables, with nothing changed', async (_, gradients, code) => {
    const { backend, options, optimizer, elements } = task((_batch, device) => ({
      loss: device.zeros([]),
      gradients: gradients.map((each) => gradient(device, ...each)),
    }))
    const before = backend.stats().tensors
    await expect(trainingStep(options, [1], RATE)).rejects.toThrow(coded(code))
    expect([optimizer.step, backend.stats().tensors]).toEqual([0, before])
    expect(await elements()).toEqual([1, 1])
    backend.dispose()
  })

  describe.each([
    ['reads its outcome', (backend: Backend) => backend],
    ['queues its update', withSteps],
  ])('where a step %s', (_, wrapped) => {
    it.each<[string, number[], Partial<TrainingStepOptions<number>>, string]>([
      ['the update', [1, 1, 1], {}, 'ERR_SHAPE'],
      ['clipping by norm', [1, 1], { clipNorm: -1 }, 'ERR_HYPERPARAMETER'],
      ['clipping by value', [1, 1], { clipValue: -1 }, 'ERR_HYPERPARAMETER'],
      ['clipping by norm after that by value', [1, 1], { clipValue: 1, clipNorm: -1 }, 'ERR_HYPERPARAMETER'],
    ])('leaves nothing of a step in which %s fails', async (_part, elements, clipping, code) => {
      const { backend, options, optimizer, ...variable } = task((_batch, device) => ({
        loss: device.zeros([]),
        gradients: [gradient(device, ...elements)],
      }))
      const before = backend.stats().tensors
      const failing = { ...options, backend: wrapped(backend), ...clipping }
      await expect(trainingStep(failing, [1], RATE)).rejects.toThrow(coded(code))
      expect([optimizer.step, backend.stats().tensors]).toEqual([0, before])
      expect(await variable.elements()).toEqual([1, 1])
      backend.dispose()
    })
  })
})
