import { expect, test } from 'vitest'
import { Conv2DLSTMCell } from '../../src/index.js'

test('an image and a kernel whose table of reads exceeds 2^26 entries are refused', () => {
  const build = (height: number) =>
    new Conv2DLSTMCell({ inputShape: [4, 4, 1], outputChannels: 2, kernelShape: [3, height] })
  expect(() => build(2 ** 33)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', option: 'kernelShape', value: [3, 2 ** 33] }),
  )
  expect(build(3).stateSize).toEqual({ c: 32, h: 32 })
})
