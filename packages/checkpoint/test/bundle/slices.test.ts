import { elementCount } from '@cudnn-rnn/canonical/rules'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { SliceExtent } from '../../src/bundle/bundle_messages.js'
import { assembleSlices } from '../../src/bundle/slices.js'

const at = (start: number, length: number): SliceExtent => ({ start, length })
const corrupt = (rule: RegExp) => coded('ERR_CHECKPOINT_CORRUPT', { message: expect.stringMatching(rule) as string })

/** The elements 0, 1, 2, … of a tensor, taken apart into slices and put together. */
function assembled(shape: readonly number[], slices: readonly (readonly SliceExtent[])[]) {
  const strides = shape.map((_, axis) => elementCount(shape.slice(axis + 1)))
  const read = async (slice: readonly SliceExtent[]) => {
    const indices = slice.reduce<number[]>(
      (offsets, extent, axis) => {
        const { start, length }: { start: number; length: number } = extent ?? { start: 0, length: shape[axis]! }
        const own = Array.from({ length }, (_, index) => (start + index) * strides[axis]!)
        return offsets.flatMap((offset) => own.map((each) => offset + each))
      },
      [0],
    )
    return Float32Array.from(indices)
  }
  return assembleSlices('kernel', 'float32', shape, slices, read)
}

const range = (count: number) => Float32Array.from({ length: count }, (_, index) => index)

describe('assembleSlices', () => {
  it.each([
    ['a scalar', [], [[]]],
    ['a vector in three parts, not in order', [6], [[at(4, 2)], [at(0, 1)], [at(1, 3)]]],
    [
      'rows of a matrix',
      [4, 3],
      [
        [at(0, 1), undefined],
        [at(1, 3), undefined],
      ],
    ],
    [
      'columns of a matrix',
      [2, 5],
      [
        [undefined, at(0, 2)],
        [undefined, at(2, 3)],
      ],
    ],
    [
      'quarters of a matrix',
      [4, 6],
      [
        [at(0, 1), at(0, 4)],
        [at(0, 1), at(4, 2)],
        [at(1, 3), at(0, 5)],
        [at(1, 3), at(5, 1)],
      ],
    ],
    [
      'the middle dimension of three',
      [2, 4, 3],
      [
        [undefined, at(0, 1), undefined],
        [undefined, at(1, 3), undefined],
      ],
    ],
    [
      'a part of each of four dimensions',
      [2, 3, 2, 4],
      [
        [at(0, 1), undefined, undefined, undefined],
        [at(1, 1), at(0, 2), undefined, undefined],
        [at(1, 1), at(2, 1), undefined, at(0, 3)],
        [at(1, 1), at(2, 1), undefined, at(3, 1)],
      ],
    ],
    ['a tensor without elements', [0, 3], [[at(0, 0), undefined]]],
    ['a tensor whose last dimension is empty', [3, 0], [[at(0, 3), at(0, 0)]]],
  ] as const)('puts %s together', async (_, shape, slices) => {
    const count = elementCount(shape as readonly number[])
    expect(await assembled(shape, slices)).toEqual(range(count))
  })

  it('keeps both parts of complex elements', async () => {
    const halves: Record<number, Float32Array> = { 0: Float32Array.of(1, 2), 1: Float32Array.of(3, 4) }
    const whole = await assembleSlices(
      'kernel',
      'complex64',
      [2],
      [[at(1, 1)], [at(0, 1)]],
      async ([extent]) => halves[extent!.start]!,
    )
    expect(whole).toEqual(Float32Array.of(1, 2, 3, 4))
  })

  it.each([
    ['have another rank', [2, 2], [[undefined]], /another rank/],
    ['leave the tensor', [4], [[at(1, 4)]], /leaves it/],
    ['leave a gap', [4], [[at(0, 1)], [at(2, 2)]], /do not cover it/],
    ['are none', [4], [], /do not cover it/],
    ['cover more than the tensor', [4], [[undefined], [undefined]], /do not cover it/],
    ['overlap and leave a gap of that size', [4], [[at(0, 2)], [at(1, 2)]], /overlap/],
    [
      'are one twice, another never',
      [2, 2],
      [
        [at(0, 1), undefined],
        [at(0, 1), undefined],
      ],
      /overlap/,
    ],
  ] as const)('refuses slices that %s', async (_, shape, slices, rule) => {
    await expect(assembled(shape, slices)).rejects.toThrow(corrupt(rule))
  })

  it('refuses strings', async () => {
    const read = async () => []
    await expect(assembleSlices('kernel', 'string', [1], [[undefined]], read)).rejects.toThrow(
      corrupt(/never partitioned/),
    )
  })
})
