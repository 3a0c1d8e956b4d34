import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Variable } from '@cudnn-rnn/models'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { Adam, Dataset, fit, type GradientTape, Sgd, tensor } from '../src/index.js'

const data = () => Dataset.fromArray([1, 2, 3]).batch(3)

it('trains the listed variables, and no others', async () => {
  using backend = openReferenceBackend()
  using slope = new Variable(backend, backend.zeros([1]), 'slope')
  using offset = new Variable(backend, backend.tensor(tensor([1])), 'offset')
  const loss = (t: GradientTape, xs: readonly number[]) => {
    const y = t.add(t.multiply(slope, tensor([...xs])), offset)
    return t.mean(t.square(t.subtract(y, tensor(xs.map((x) => 3 * x + 1)))))
  }
  const all = { variables: { slope }, loss, data: data().repeat(), learningRate: 0.05, maxSteps: 60 }
  await fit({ ...all, optimizer: 'sgd' })
  expect((await slope.value.read()).data[0]).toBeCloseTo(3, 3)
  expect((await offset.value.read()).data).toEqual(Float32Array.of(1))
  const { step } = await fit({
    ...all,
    variables: [slope, offset],
    optimizer: (variables) => new Sgd(variables),
  })
  expect(step).toBe(60)
  const { step: untilTheEnd } = await fit({ variables: [slope], loss, data: data() })
  expect(untilTheEnd).toBe(1)
  expect(backend.stats().tensors).toBe(2)
})

it('refuses options that are wrong, and disposes everything where a loss fails', async () => {
  using backend = openReferenceBackend()
  using slope = new Variable(backend, backend.zeros([1]), 'slope')
  using other = new Variable(backend, backend.zeros([1]), 'other')
  const loss = (t: GradientTape) => t.sum(slope)
  const wrong = [
    ['ERR_INVALID_ARGUMENT', { variables: [] }],
    ['ERR_INVALID_ARGUMENT', { variables: [{ name: 'x', value: slope.value }] }],
    ['ERR_INVALID_OPTION_TYPE', { loss: 1 }],
    ['ERR_INVALID_OPTION', { optimizer: 'x' }],
    ['ERR_INVALID_OPTION', { optimizer: () => new Adam([other]) }],
    ['ERR_UNKNOWN_OPTION', { epochs: 1 }],
    ['ERR_HYPERPARAMETER', { maxSteps: -1 }],
    ['ERR_SHAPE', { loss: (t: GradientTape) => t.multiply(slope, 2) }],
    ['ERR_NOT_A_TENSOR', { loss: () => 1 }],
  ] as const
  for (const [code, part] of wrong) {
    const options = { variables: [slope], loss, data: data(), ...part }
    await expect(fit(options as never)).rejects.toThrow(coded(code))
  }
  expect(backend.stats().tensors).toBe(2)
})
