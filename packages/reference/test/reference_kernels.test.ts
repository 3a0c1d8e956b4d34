import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openReferenceBackend } from '../src/index.js'

const floats = (shape: readonly number[], ...data: number[]) => ({ data: Float64Array.from(data), shape })
const ints = (shape: readonly number[], ...data: number[]) => ({ data: Int32Array.from(data), shape })
const open = () => openReferenceBackend({ dtype: 'float64' })
const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 13))

async function values(tensor: { read(): Promise<{ readonly data: ArrayLike<number> }> }): Promise<number[]> {
  return Array.from((await tensor.read()).data)
}

describe('linear and embedding', () => {
  it('linear takes leading dimensions as rows, and so do its gradients', async () => {
    using backend = open()
    const { ops } = backend
    const [x, kernel] = [floats([2, 1, 2], 1, 2, 3, 4), floats([2, 3], 1, 0, 2, 0, 1, 3)]
    const y = ops.linear(x, kernel, floats([3], 10, 20, 30))
    expect([y.shape, await values(y)]).toEqual([
      [2, 1, 3],
      [11, 22, 38, 13, 24, 48],
    ])
    const gradients = ops.linearGradients(x, kernel, floats([2, 1, 3], 1, 1, 0, 0, 0, 1))
    expect([gradients.input.shape, await values(gradients.input)]).toEqual([
      [2, 1, 2],
      [1, 1, 2, 3],
    ])
    expect([gradients.kernel.shape, await values(gradients.kernel)]).toEqual([
      [2, 3],
      [1, 1, 3, 2, 2, 4],
    ])
    expect([gradients.bias.shape, await values(gradients.bias)]).toEqual([[3], [1, 1, 1]])
  })

  it('embedding looks rows up, and its gradient adds those of repeated ids', async () => {
    using backend = open()
    const { ops } = backend
    const ids = ints([3, 1], 2, 0, 2)
    const rows = ops.embedding(floats([3, 2], 1, 2, 3, 4, 5, 6), ids)
    expect([rows.shape, await values(rows)]).toEqual([
      [3, 1, 2],
      [5, 6, 1, 2, 5, 6],
    ])
    const gradient = ops.embeddingGradient(3, ids, floats([3, 1, 2], 1, 2, 10, 20, 100, 200))
    expect([gradient.shape, await values(gradient)]).toEqual([
      [3, 2],
      [10, 20, 0, 0, 101, 202],
    ])
  })
})

describe('softmaxCrossEntropy', () => {
  it('is the mean of -ln p over the rows, and its gradient softmax minus one at the label', async () => {
    using backend = open()
    const logits = floats([2, 1, 2], Math.log(3), 0, 0, 0)
    const { loss, logitsGradient } = backend.ops.softmaxCrossEntropy(logits, ints([2, 1], 0, 1))
    expect([loss.shape, await values(loss)]).toEqual([[], close([(Math.log(4 / 3) + Math.LN2) / 2])])
    expect([logitsGradient.shape, await values(logitsGradient)]).toEqual([
      [2, 1, 2],
      close([-0.125, 0.125, 0.25, -0.25]),
    ])
  })

  it('weighs rows, and divides by the sum of the weights', async () => {
    using backend = open()
    const logits = floats([2, 2], Math.log(3), 0, Number.NaN, 0)
    const { loss, logitsGradient } = backend.ops.softmaxCrossEntropy(logits, ints([2], 1, 0), floats([2], 5, 0))
    expect(await values(loss)).toEqual(close([Math.log(4)]))
    expect(await values(logitsGradient)).toEqual(close([0.75, -0.75, 0, 0]))
  })
})

describe('ctcLoss', () => {
  const options = { blank: 1, labelLengths: Int32Array.of(1), logitLengths: Int32Array.of(2) }

  it('adds up the paths of a label over two steps of equal classes', async () => {
    using backend = open()
    // Three of four paths over (label, blank) read the label: ab, ba, aa.
    const result = await backend.ops.ctcLoss(floats([2, 1, 2], 0, 0, 0, 0), ints([1, 1], 0), options as never)
    expect(await values(result.rowLosses)).toEqual(close([Math.log(4 / 3)]))
    // softmax - the share of the label among those paths, 2/3 at each step.
    expect(await values(result.logitsGradient)).toEqual(close([-1 / 6, 1 / 6, -1 / 6, 1 / 6]))
  })
})

describe('norms, clips and assignments', () => {
  it('globalNorm is the root of the sum of all squares', async () => {
    using backend = open()
    const tensors = [backend.tensor(floats([2], 3, 0)), backend.tensor(floats([1, 1], -4))]
    const norm = backend.ops.globalNorm(tensors)
    expect([norm.shape, await values(norm)]).toEqual([[], [5]])
    expect(await values(backend.ops.globalNorm([backend.zeros([3])]))).toEqual([0])
  })

  it('clipByGlobalNorm scales where the norm is larger, and returns the norm before', async () => {
    using backend = open()
    const tensors = [backend.tensor(floats([1], 3)), backend.tensor(floats([1], -4))]
    expect(await values(backend.ops.clipByGlobalNorm(tensors, 5))).toEqual([5])
    expect(await Promise.all(tensors.map(values))).toEqual([[3], [-4]])
    expect(await values(backend.ops.clipByGlobalNorm(tensors, 1))).toEqual([5])
    expect(await Promise.all(tensors.map(values))).toEqual([close([0.6]), close([-0.8])])
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY])(
    'clipByGlobalNorm leaves tensors with %d as they are',
    async (value) => {
      using backend = open()
      const tensors = [backend.tensor(floats([2], 3, value))]
      expect(await values(backend.ops.clipByGlobalNorm(tensors, 1))).toEqual([value])
      expect(await values(tensors[0])).toEqual([3, value])
    },
  )

  it('clipByValue limits every element to ±limit, and keeps NaN', async () => {
    using backend = open()
    const tensor = backend.tensor(floats([4], -3, 0.5, 2, Number.NaN))
    backend.ops.clipByValue([tensor], 1)
    expect(await values(tensor)).toEqual([-1, 0.5, 1, Number.NaN])
  })

  it('assign copies, accumulate adds a multiple', async () => {
    using backend = open()
    const [variable, source] = [backend.tensor(floats([2], 1, 2)), floats([2], 10, 20)]
    backend.ops.accumulate(variable, source)
    backend.ops.accumulate(variable, source, -0.5)
    expect(await values(variable)).toEqual([6, 12])
    backend.ops.assign(variable, source)
    source.data.fill(0)
    expect(await values(variable)).toEqual([10, 20])
    expect(() => backend.ops.assign(variable, floats([1, 2], 1, 2))).toThrow(coded('ERR_SHAPE'))
    expect(await values(variable)).toEqual([10, 20])
  })

  it('accumulate of a tensor into itself doubles it', async () => {
    using backend = open()
    const variable = backend.tensor(floats([3], 1, -2, 0))
    backend.ops.accumulate(variable, variable)
    expect(await values(variable)).toEqual([2, -4, 0])
  })

  it('moves the version of a written tensor, and not that of its source', () => {
    using backend = open()
    const [variable, source] = [backend.zeros([1]), backend.zeros([1])]
    backend.ops.accumulate(variable, source)
    backend.ops.assign(variable, source)
    backend.ops.clipByValue([variable], 1)
    expect([variable.version, source.version]).toEqual([3, 0])
  })
})
