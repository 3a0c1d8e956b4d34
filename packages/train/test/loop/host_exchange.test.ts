import type { Backend, TensorLike } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { HostExchange, meanOfNumbers, type ShareResult } from '../../src/loop/device_exchange.js'

const opened: ReturnType<typeof openReferenceBackend>[] = []
afterEach(() => {
  for (const backend of opened.splice(0)) backend.dispose()
})

/** Devices with one variable [2] each, whose elements are 10 times the number of the device and one more. */
function openDevices(count: number) {
  const devices = Array.from({ length: count }, () => openReferenceBackend())
  opened.push(...devices)
  const variables = devices.map((device, rank) => [{ name: 'x', value: tensor(device, 10 * rank, 10 * rank + 1) }])
  return { devices, variables, exchange: new HostExchange(devices, 'the devices are not connected') }
}

const tensor = (device: Backend, ...elements: number[]) =>
  device.tensor({ data: Float32Array.from(elements), shape: [elements.length] })
const read = async (value: TensorLike) => [...('read' in value ? await value.read() : value).data]
const number = (loss: number, weight: number): ShareResult => ({ loss, gradients: [], weight, rank: 0 })

describe('meanOfNumbers', () => {
  it('weighs the losses, and passes over those of weight 0', () => {
    expect(meanOfNumbers([number(4, 1), number(8, 3), number(Number.NaN, 0)])).toBe(7)
  })

  it('is undefined where one that counts is a tensor', () => {
    const { devices } = openDevices(1)
    const loss = devices[0]!.zeros([])
    expect(meanOfNumbers([number(4, 1), { ...number(0, 1), loss }])).toBeUndefined()
    expect(meanOfNumbers([number(4, 1), { ...number(0, 0), loss }])).toBe(4)
  })
})

describe('HostExchange', () => {
  it('copies the variables of the first device to those that are used next', async () => {
    const { exchange, variables } = openDevices(4)
    await exchange.copy(variables, [0, 1, 3])
    expect(await Promise.all(variables.map(([own]) => read(own!.value)))).toEqual([
      [0, 1],
      [0, 1],
      [20, 21],
      [0, 1],
    ])
  })

  it('takes the means of losses and gradients on the first device', async () => {
    const { devices, exchange, variables } = openDevices(3)
    const results = devices.map((device, rank) => ({
      rank,
      loss: rank === 0 ? 4 : tensorOf(device, 8),
      gradients: [tensor(device, 4 * rank, 8)],
      // The third does not count, though its numbers are finite.
      weight: [1, 3, 0][rank]!,
    }))
    const before = devices.map((device) => device.stats().tensors)
    const { loss, gradients, weight } = await exchange.mean(variables, results)
    expect([await read(loss as TensorLike), await read(gradients[0]!), weight]).toEqual([[7], [3, 8], 4])
    expect(devices[0]!.owns(gradients[0]!)).toBe(true)
    expect(devices.map((device) => device.stats().tensors)).toEqual([before[0]! + 2, before[1], before[2]])
  })

  it('keeps a loss of numbers a number, and passes over NaN of weight 0', async () => {
    const { devices, exchange, variables } = openDevices(2)
    const results = [
      { rank: 0, loss: 2, gradients: [tensor(devices[0]!, 1, 2)], weight: 5 },
      { rank: 1, loss: Number.NaN, gradients: [tensor(devices[1]!, Number.NaN, 1)], weight: 0 },
    ]
    const mean = await exchange.mean(variables, results)
    expect([mean.loss, await read(mean.gradients[0]!)]).toEqual([2, [1, 2]])
  })

  it('disposes the means so far where a gradient does not fit', async () => {
    const { devices, exchange, variables } = openDevices(2)
    const results = [
      { rank: 0, loss: 2, gradients: [tensor(devices[0]!, 1, 2)], weight: 1 },
      { rank: 1, loss: 2, gradients: [tensor(devices[1]!, 1, 2, 3)], weight: 1 },
    ]
    const before = devices.map((device) => device.stats())
    await expect(exchange.mean(variables, results)).rejects.toThrow(coded('ERR_SHAPE'))
    expect(devices.map((device) => device.stats().tensors)).toEqual(before.map(({ tensors }) => tensors))
  })
})

function tensorOf(device: Backend, value: number) {
  return device.tensor({ data: Float32Array.of(value), shape: [] })
}
