import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { batchesIn, type Changes, numbers, sequence, shape } from './drawn_batches.js'

const ids = (isSequence: boolean) => ({ isSequence, features: null })

describe('batchesOf examples', () => {
  it('joins 32 of an array by default', async () => {
    const examples = Array.from({ length: 40 }, (_, k) => ({ input: sequence(k, k), label: 1 }))
    const rows = async (options: object) =>
      (await batchesIn(examples, options, shape())).map(({ sequenceLengths }) => sequenceLengths?.length)
    expect(await rows({})).toEqual([32, 8])
    expect(await rows({ batchSize: 20 })).toEqual([20, 20])
  })

  it('pads sequences time-major, with their lengths, and stacks class ids', async () => {
    const data = [
      { input: sequence(1, 2), label: 2 },
      { input: sequence(3, 4, 5, 6), label: 0 },
    ]
    const [batch, ...rest] = await batchesIn(data, { batchSize: 2 }, shape())
    expect(rest).toEqual([])
    expect(batch?.input).toEqual({ data: Float32Array.of(1, 2, 3, 4, 0, 0, 5, 6), shape: [2, 2, 2] })
    expect(batch?.sequenceLengths).toEqual(Int32Array.of(1, 2))
    expect(batch?.labels).toMatchObject({ data: Int32Array.of(2, 0) })
  })

  it('weighs rows, of outputs with a time axis each step within the length', async () => {
    const rows = [
      { input: sequence(1, 2), label: [2], weight: 0.5 },
      { input: sequence(3, 4, 5, 6), label: [0, 1] },
    ]
    const [pooled] = await batchesIn(
      rows.map((row) => ({ ...row, label: 1 })),
      {},
      shape(),
    )
    expect(pooled?.weights).toEqual({ data: Float32Array.of(0.5, 1), shape: [2] })
    const [stepped] = await batchesIn(rows, {}, shape({ output: numbers(true, 3) }))
    expect(stepped?.weights).toEqual({ data: Float32Array.of(0.5, 1, 0, 1), shape: [2, 2] })
    const [alike] = await batchesIn(
      rows.map(({ input }) => ({ input, label: 1, weight: 1 })),
      {},
      shape(),
    )
    expect(alike?.weights).toBeUndefined()
    for (const weight of [-1, Number.NaN, '2']) {
      await expect(batchesIn([{ ...rows[1], label: 1, weight }], {}, shape())).rejects.toThrow(coded('ERR_EXAMPLE'))
    }
  })

  it.each([
    [{ input: sequence(1, 2), label: [0, 1, 0] }, false, 'Give the index of the 1 in place of a one-hot vector'],
    [{ input: sequence(1, 2, 3, 4), label: 1 }, true, 'put lastStep() or meanOverTime() behind the recurrent layers'],
    [{ input: [1, 2], label: 1 }, false, 'A sequence is a list of steps'],
  ])('advises about %o', async (example, isSequence, advice) => {
    const given = shape({ output: numbers(isSequence, 3) })
    const error = coded('ERR_EXAMPLE', { message: expect.stringContaining(advice) })
    await expect(batchesIn([example], {}, given)).rejects.toThrow(error)
  })

  it('has a last batch of fewer rows', async () => {
    const data = [1, 2, 3].map((value) => ({ input: sequence(value, 0), label: 1 }))
    const batches = await batchesIn(data, { batchSize: 2 }, shape())
    expect(batches.map(({ input }) => input.shape)).toEqual([
      [1, 2, 2],
      [1, 1, 2],
    ])
  })

  it('gives rows without a step one of padding', async () => {
    const data = [{ input: { data: new Float32Array(0), shape: [0, 2] }, label: 1 }]
    const [batch] = await batchesIn(data, { batchSize: 1 }, shape())
    expect(batch?.input).toEqual({ data: new Float32Array(2), shape: [1, 1, 2] })
    expect(batch?.sequenceLengths).toEqual(Int32Array.of(0))
  })

  it('takes class ids as int32, and numbers in the dtype of the model', async () => {
    const text = shape({ input: ids(true), output: numbers(true, 4) })
    const [batch] = await batchesIn([{ input: [3, 1], label: [0, 2] }], { batchSize: 1 }, text)
    expect(batch?.input).toEqual({ data: Int32Array.of(3, 1), shape: [2, 1] })
    expect(batch?.labels).toEqual({ data: Int32Array.of(0, 2), shape: [2, 1] })
    const double = shape({ dtype: 'float64', output: numbers(false, 1), loss: 'mean_squared_error' })
    const [wide] = await batchesIn([{ input: sequence(1, 2), label: 0.1 }], { batchSize: 1 }, double)
    expect(wide?.labels).toEqual({ data: Float64Array.of(0.1), shape: [1, 1] })
    expect(wide?.input.data).toBeInstanceOf(Float64Array)
  })

  it('takes a list of numbers for labels of any shape, and tensors without a dimension of 1', async () => {
    const labels = [
      [5, 6],
      Float32Array.of(5, 6),
      { data: Float32Array.of(5, 6), shape: [2] },
      { data: [5, 6], shape: [1, 2, 1] },
    ]
    for (const label of labels) {
      const example = { input: sequence(1, 2, 3, 4), label }
      const given = shape({ loss: 'mean_squared_error', output: numbers(true, 1) })
      const [batch] = await batchesIn([example], { batchSize: 1 }, given)
      expect(batch?.labels).toMatchObject({ data: Float32Array.of(5, 6), shape: [2, 1, 1] })
    }
  })

  it('takes sequences and their labels as one list for each step', async () => {
    const double = shape({ dtype: 'float64', loss: 'mean_squared_error', output: numbers(true, 1) })
    const example = { input: [[0.1, 2], Float32Array.of(3, 4)], label: [[5], [6]] }
    const [batch] = await batchesIn([example], { batchSize: 1 }, double)
    expect(batch?.input).toEqual({ data: Float64Array.of(0.1, 2, 3, 4), shape: [2, 1, 2] })
    expect(batch?.labels).toEqual({ data: Float64Array.of(5, 6), shape: [2, 1, 1] })
  })

  it('shuffles arrays by the seed, the same way each time', async () => {
    const data = Array.from({ length: 20 }, (_, k) => ({ input: sequence(k, 0), label: 0 }))
    const order = async (options: object) => {
      const batches = await batchesIn(data, { batchSize: 1, ...options }, shape())
      return batches.map(({ input }) => input.data[0])
    }
    const plain = await order({})
    expect(plain).toEqual(data.map((_, k) => k))
    const shuffled = await order({ shuffleSeed: 5 })
    expect(shuffled).not.toEqual(plain)
    expect(shuffled.toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual(plain)
    expect(await order({ shuffleSeed: 5 })).toEqual(shuffled)
  })

  it.each<[string, unknown, Changes, RegExp]>([
    ['no label', { input: sequence(1, 2) }, {}, /example 0 must be \{ input, label \}/],
    ['null', null, {}, /example 0 must be/],
    [
      'another width',
      { input: { data: new Float32Array(3), shape: [1, 3] }, label: 0 },
      {},
      /must have shape \[t,2\] for \[T,B,2\]: current value is shape \[1,3\]/,
    ],
    ['a flat list of numbers', { input: [1, 2], label: 0 }, {}, /must have shape \[t,2\]/],
    ['steps of several lengths', { input: [[1, 2], [3]], label: 0 }, {}, /an array of 2 steps of 2 and 1 numbers/],
    [
      'steps of texts',
      {
        input: [
          [1, 2],
          ['1', 2],
        ],
        label: 0,
      },
      {},
      /an array of 2 whose element 1 is an array of 2/,
    ],
    [
      'numbers of another shape',
      { input: { data: [1, 2, 3], shape: [2, 2] }, label: 0 },
      {},
      /3 numbers for shape \[2,2\]/,
    ],
    ['steps of another width', { input: [[1, 2, 3]], label: 0 }, {}, /current value is shape \[1,3\]/],
    ['ids that are not integers', { input: [1.5], label: 0 }, { input: ids(true) }, /the input of row 0/],
    ['ids that are texts', { input: ['1'], label: 0 }, { input: ids(true) }, /the input of row 0/],
    ['big integers', { input: BigInt64Array.of(1n), label: 0 }, { input: ids(true) }, /the input of row 0/],
    [
      'too many labels',
      { input: sequence(1, 2), label: [0, 1] },
      {},
      /the label of row 0 must be class ids of shape \[\]/,
    ],
    [
      'a label for too few steps',
      { input: sequence(1, 2, 3, 4), label: [0] },
      { output: numbers(true, 3) },
      /class ids of shape \[2\] for softmax_cross_entropy of \[T,B,3\]: current value is shape \[1\]/,
    ],
    [
      'numbers of another size',
      { input: sequence(1, 2), label: [1, 2] },
      { loss: 'mean_squared_error' },
      /must be numbers of shape \[3\]/,
    ],
    [
      'a label that is transposed',
      {
        input: sequence(1, 2, 3, 4),
        label: { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [3, 2] },
      },
      { loss: 'mean_squared_error', output: numbers(true, 3) },
      /must be numbers of shape \[2,3\] .* current value is shape \[3,2\]/,
    ],
    [
      'a class id for ctc',
      { input: sequence(1, 2), label: 3 },
      { loss: { name: 'ctc' } },
      /must be a list of class ids for ctc/,
    ],
  ])('refuses %s', async (_, example, changes, message) => {
    await expect(batchesIn([example], { batchSize: 1 }, shape(changes))).rejects.toThrow(
      coded('ERR_EXAMPLE', { message: expect.stringMatching(message) }),
    )
  })
})
