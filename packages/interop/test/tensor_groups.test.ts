import type { FloatArray } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { groupTensors, readGroups } from '../src/networks/tensor_groups.js'

const stored = (name: string, data: FloatArray = Float32Array.of(1)) => ({
  ...{ name, shape: [data.length], dtype: 'F32' },
  read: async () => data,
})

describe('groupTensors', () => {
  const split = (name: string) => /^(?:(.*)\.)?(weight|bias)$/.exec(name)
  const grouped = (...names: readonly string[]) =>
    groupTensors(
      names.map((name) => stored(name)),
      (name) => {
        const match = split(name)
        return match === null ? undefined : [match[1] ?? '', match[2] ?? '']
      },
    ).map(({ prefix, tensors }) => [prefix, [...tensors].map(([own, { name }]) => [own, name])])

  it('groups tensors by prefix in the order in which both occur, and leaves the others out', () => {
    expect(grouped('b.bias', 'a.weight', 'step', 'b.weight', 'weight')).toEqual([
      [
        'b',
        [
          ['bias', 'b.bias'],
          ['weight', 'b.weight'],
        ],
      ],
      ['a', [['weight', 'a.weight']]],
      ['', [['weight', 'weight']]],
    ])
  })

  it('takes prefixes that are names of Object.prototype for names', () => {
    expect(grouped('constructor.bias', '__proto__.bias').map(([prefix]) => prefix)).toEqual([
      'constructor',
      '__proto__',
    ])
  })

  it('is empty without tensors', () => {
    expect(grouped()).toEqual([])
  })
})

describe('readGroups', () => {
  const group = (...data: readonly FloatArray[]) =>
    new Map(data.map((each, index) => [`t${index}`, stored(`t${index}`, each)] as const))

  it('reads a record for each group, with the shapes', async () => {
    const [first, second] = await readGroups([group(Float32Array.of(1, 2)), group(Float32Array.of(3))])
    expect(first).toEqual({ t0: { data: Float32Array.of(1, 2), shape: [2] } })
    expect(second).toEqual({ t0: { data: Float32Array.of(3), shape: [1] } })
  })

  it('keeps float64 where all tensors of all groups are, and gives float32 otherwise', async () => {
    const [double, single] = [Float64Array.of(0.1), Float32Array.of(2)]
    expect((await readGroups([group(double), group(double)])).map(({ t0 }) => t0?.data)).toEqual([double, double])
    const [mixed, other] = await readGroups([group(double, single), group(double)])
    expect([mixed.t0, mixed.t1, other.t0].map((tensor) => tensor?.data)).toEqual([
      Float32Array.of(0.1),
      single,
      Float32Array.of(0.1),
    ])
    // A network's tensors are in one precision also if only another group is in float32.
    const [first] = await readGroups([group(double), group(single)])
    expect(first.t0?.data).toEqual(Float32Array.of(0.1))
  })

  it('gives the array of the file itself where nothing is converted', async () => {
    const data = Float32Array.of(1)
    const [record] = await readGroups([group(data)])
    expect(record.t0?.data).toBe(data)
  })
})
