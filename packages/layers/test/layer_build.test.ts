import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { dense, dropout, type LayerDefinition, sequential } from '../src/index.js'
import { LayerBuild, type LayerInitializer } from '../src/layer_build.js'

const build = (seed?: number) => new LayerBuild(openReferenceBackend({ dtype: 'float64' }), seed)

describe('the names of layers', () => {
  test('are numbered from the second of a kind on', () => {
    const names = build()
    expect([1, 2, 3].map(() => names.nameOf(undefined, 'dense'))).toEqual(['dense', 'dense_1', 'dense_2'])
    expect(names.nameOf(undefined, 'dropout')).toBe('dropout')
  })

  test('leave out those that were given, before them or after', () => {
    const names = build()
    expect(names.nameOf('dense_1', 'dense')).toBe('dense_1')
    expect([1, 2].map(() => names.nameOf(undefined, 'dense'))).toEqual(['dense', 'dense_2'])
    names.reserve(['dropout', undefined, 'dropout_2'])
    expect([1, 2].map(() => names.nameOf(undefined, 'dropout'))).toEqual(['dropout_1', 'dropout_3'])
    expect(names.nameOf('dropout', 'dropout')).toBe('dropout')
    expect(() => names.reserve(undefined as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  })

  test('of a model are those that its user gave, whichever comes first', () => {
    using backend = openReferenceBackend()
    const layers: readonly LayerDefinition[] = [
      dense({ units: 1 }),
      dropout({ rate: 0.1, name: 'dense_1' }),
      dense({ units: 1 }),
      dense({ units: 1, name: 'dense' }),
    ]
    using model = sequential(backend, layers, { inputSize: 1 })
    expect(model.layers.map(({ name }) => name)).toEqual(['dense_2', 'dense_1', 'dense_3', 'dense'])
  })

  test.each(['', 'a b', 'a/b', 'ü', 3, null, {}])('are refused where they are %o', (given) => {
    expect(() => build().nameOf(given as string, 'dense')).toThrow(coded('ERR_INVALID_OPTION', { option: 'name' }))
  })

  test('are refused where two layers have one, and no variable is left', () => {
    using backend = openReferenceBackend()
    const twice = [dense({ units: 1, name: 'top' }), dense({ units: 1, name: 'top' })]
    expect(() => sequential(backend, twice, { inputSize: 1 })).toThrow(coded('ERR_INVALID_OPTION'))
    expect(backend.stats().tensors).toBe(0)
  })
})

describe('the initial values of a variable', () => {
  const valuesOf = async (shape: readonly number[], initializer: LayerInitializer, seed = 1) => {
    const own = build(seed)
    using variable = own.variable('w', shape, initializer, own.random())
    return Array.from((await variable.value.read()).data)
  }

  test('are a constant, those of a function, or copies of a tensor', async () => {
    expect(await valuesOf([2, 2], 0.5)).toEqual([0.5, 0.5, 0.5, 0.5])
    const shapes: (readonly number[])[] = []
    const counted = await valuesOf([3], (values, shape) => {
      shapes.push(shape)
      values.set([1, 2, 3])
    })
    expect(counted).toEqual([1, 2, 3])
    expect(shapes).toEqual([[3]])
    expect(await valuesOf([1, 2], { data: Float32Array.of(4, 5), shape: [1, 2] })).toEqual([4, 5])
  })

  test.each<[string, LayerInitializer, readonly number[], number]>([
    ['glorot_uniform of [rows, columns]', 'glorot_uniform', [40, 14], 1 / 3],
    ['glorot_uniform of a vector, whose columns are its rows', 'glorot_uniform', [300], 0.1],
    ['a limit', { uniform: 0.25 }, [500], 0.25],
    ['a limit of zero', { uniform: 0 }, [5], 0],
  ])('are uniform within the limit of %s', async (_, initializer, shape, limit) => {
    const values = await valuesOf(shape, initializer)
    const largest = Math.max(...values.map(Math.abs))
    expect(largest).toBeLessThanOrEqual(limit)
    expect(largest).toBeGreaterThanOrEqual(0.95 * limit)
    expect(await valuesOf(shape, initializer)).toEqual(values)
    if (limit > 0) expect(await valuesOf(shape, initializer, 2)).not.toEqual(values)
  })

  test('of two layers of one seed differ', async () => {
    const own = build(7)
    const [a, b] = [1, 2].map(() => own.variable('w', [4], { uniform: 1 }, own.random()))
    expect((await a.value.read()).data).not.toEqual((await b.value.read()).data)
  })

  test.each<[string, unknown]>([
    ['ERR_INVALID_OPTION', 'he_normal'],
    ['ERR_INVALID_OPTION', Number.NaN],
    ['ERR_INVALID_OPTION', Number.POSITIVE_INFINITY],
    ['ERR_INVALID_OPTION', { uniform: -1 }],
    ['ERR_INVALID_OPTION', { uniform: Number.NaN }],
    ['ERR_INVALID_OPTION', {}],
    ['ERR_INVALID_OPTION', null],
    ['ERR_SHAPE', { data: new Float32Array(2), shape: [2] }],
    ['ERR_SHAPE', { data: new Float32Array(3), shape: [2] }],
    ['ERR_NOT_A_TENSOR', { data: [1, 2], shape: [1, 2] }],
    ['ERR_DTYPE', { data: new Int32Array(2), shape: [1, 2] }],
  ])('are refused with %s: %o', (code, initializer) => {
    const own = build()
    expect(() => own.variable('w', [1, 2], initializer as LayerInitializer, own.random())).toThrow(coded(code))
    expect(own.backend.stats().tensors).toBe(0)
  })

  test('are refused with ERR_OUT_OF_MEMORY where no array can hold them', () => {
    const own = build()
    expect(() => own.variable('w', [2 ** 31, 2 ** 31], 0, own.random())).toThrow(coded('ERR_OUT_OF_MEMORY'))
  })
})

describe('the variables of one layer', () => {
  test('are named after it and have its generator', async () => {
    const own = build(3)
    const [kernel, bias] = own.variables('dense', [
      ['kernel', [2, 3], { uniform: 1 }],
      ['bias', [3], 0],
    ])
    expect([kernel?.name, bias?.name]).toEqual(['dense/kernel', 'dense/bias'])
    expect(Array.from((await bias!.value.read()).data)).toEqual([0, 0, 0])
    const [second] = own.variables('dense_1', [['kernel', [2, 3], { uniform: 1 }]])
    expect((await second!.value.read()).data).not.toEqual((await kernel!.value.read()).data)
  })

  test('are disposed where a later one cannot be made', () => {
    const own = build()
    const specs = [
      ['kernel', [2], 0],
      ['bias', [2], Number.NaN],
    ] as const
    expect(() => own.variables('dense', specs)).toThrow(coded('ERR_INVALID_OPTION'))
    expect(own.backend.stats().tensors).toBe(0)
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['no array', 'kernel'],
    ['a hole', new Array(2)],
    ['a triple without a shape', [['kernel']]],
    ['a triple without an initializer', [['kernel', [1]]]],
    ['a triple whose name is a number', [[1, [1], 0]]],
  ])('are refused where their specifications are %s, before one is made', (_, specs) => {
    const own = build()
    expect(() => own.variables('dense', specs as never)).toThrow(coded('ERR_INVALID_ARGUMENT', { argument: 'specs' }))
    expect(own.backend.stats().tensors).toBe(0)
  })

  test('are refused where the name of the layer is a symbol', () => {
    expect(() => build().variables(Symbol('dense') as never, [])).toThrow(
      coded('ERR_INVALID_ARGUMENT', { argument: 'layer' }),
    )
  })
})

describe('the seeds of a build', () => {
  test('are refused if they are not integers from 0 on', () => {
    for (const seed of [-1, 0.5, Number.NaN, 2 ** 53, '1'])
      expect(() => build(seed as number)).toThrow(coded('ERR_INVALID_OPTION', { option: 'seed' }))
  })

  test('of recurrent networks and of masks count separately from the seed of the model', () => {
    const own = build(5)
    expect([own.recurrentSeed(), own.maskSeed(), own.recurrentSeed(), own.maskSeed()]).toEqual([5, 5, 6, 6])
  })

  test('stay valid seeds beyond the largest one', () => {
    const own = build(Number.MAX_SAFE_INTEGER)
    for (const seed of [own.recurrentSeed(), own.recurrentSeed(), own.maskSeed()]) {
      expect(Number.isSafeInteger(seed)).toBe(true)
      expect(seed).toBeGreaterThanOrEqual(0)
    }
  })
})
