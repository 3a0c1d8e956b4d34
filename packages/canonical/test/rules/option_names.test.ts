import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  checkIsObject,
  checkNames,
  checkOptionNames,
  checkOptions,
  FLAG,
  NUMBER,
  oneOf,
  optional,
  TEXT,
} from '../../src/rules/index.js'
import { choiceAdvice } from '../../src/rules/option_names.js'

const KNOWN = ['numUnits', 'numLayers', 'dropout', 'seed']
const LOSSES = [
  'softmax_cross_entropy',
  'sigmoid_cross_entropy',
  'mean_squared_error',
  'elu',
  'adam',
  'bidirectional',
  'safetensors',
]
const refusal = (
  option: string,
  known: readonly string[] = KNOWN,
): { code: string; message: string; option: string; suggestion: string | undefined } => {
  try {
    checkNames('build a network', { [option]: 1 }, known)
  } catch (error) {
    return error as never
  }
  throw new Error(`${option} is accepted`)
}

describe('checkNames', () => {
  it.each([
    ['batchFirst', 'time-major'],
    ['returnSequences', 'lastStep()'],
    ['batch_first', 'time-major'],
    ['learningRate', 'fit has it'],
    ['lr', 'fit has it'],
    ['mask', 'weights of its steps'],
    ['trainable', 'rateFactor'],
  ])('advises on %s: %s', (option, advice) => {
    expect(refusal(option).message).toContain(advice)
  })

  it.each(['0', 'data'])('explains labels if %s is the first name and the loss is an option', (option) => {
    expect(refusal(option, ['loss', 'epochs']).message).toContain('Labels come in the examples')
    expect(refusal(option).message).toContain('Known options: numUnits, numLayers, dropout, seed.')
  })

  it('lists the options if there are none', () => {
    expect(() => checkNames('build a network', 3 as never, KNOWN)).toThrow(
      'options must be an object: current value is 3. Known options: numUnits, numLayers, dropout, seed.',
    )
  })

  it('accepts known names, any of them absent or undefined', () => {
    checkNames('build a network', {}, KNOWN)
    checkNames('build a network', { seed: undefined, numUnits: 3 }, KNOWN)
  })

  it.each([
    ['num_units', 'numUnits'],
    ['NUMUNITS', 'numUnits'],
    ['numUnit', 'numUnits'],
    ['numUnits2', 'numUnits'],
    ['munUnits', 'numUnits'],
    ['dropuot', 'dropout'],
    ['sed', 'seed'],
    ['hiddenSize', 'numUnits'],
    ['hidden_size', 'numUnits'],
    ['units', 'numUnits'],
    ['num_layers', 'numLayers'],
    // By length it is as near to numUnits as to numLayers: the first of equals is named.
    ['numLayer', 'numLayers'],
  ])('suggests for %s the name %s', (option, suggestion) => {
    expect(refusal(option)).toMatchObject({
      name: 'TypeError',
      code: 'ERR_UNKNOWN_OPTION',
      message: `Cannot build a network as the option is unknown: current name is ${option}. Did you mean ${suggestion}?`,
      option,
      suggestion,
    })
  })

  it.each(['x', 'bidirectional'])('lists the known names for %s, which is near to none', (option) => {
    expect(refusal(option)).toMatchObject({ suggestion: undefined })
    expect(refusal(option).message).toMatch(/Known options: numUnits, numLayers, dropout, seed\.$/)
  })

  it('lists each known name once', () => {
    const thrown = () => checkNames('build a network', { x: 1 }, [...KNOWN, 'seed', 'numUnits'])
    expect(thrown).toThrow(/Known options: numUnits, numLayers, dropout, seed\.$/)
  })

  it.each([null, undefined, 3, 'seed', () => {}])('refuses %o for options', (options) => {
    expect(() => checkNames('build a network', options as never, KNOWN)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })

  it.each<[string, object]>([
    ['a Map', new Map([['numUnits', 3]])],
    ['a Set', new Set(['numUnits'])],
    ['a Date', new Date()],
    ['a promise: await it first', Promise.resolve({ numUnits: 3 })],
    ['an array of 0', []],
    ['a WeakMap', new WeakMap()],
    ['a RegExp', /numUnits/],
  ])('refuses options in %s, which would be read as none', (described, options) => {
    expect(() => checkNames('build a network', options, KNOWN)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION_TYPE',
        message: `Cannot build a network as the options cannot be read: ${described}`,
      }),
    )
  })

  it('accepts objects of any class with fields, and without a prototype', () => {
    class Options {
      readonly numUnits = 3
    }
    for (const options of [new Options(), Object.assign(Object.create(null), { seed: 1 }), {}]) {
      checkNames('build a network', options, KNOWN)
    }
  })

  it('refuses options whose names cannot be read, with the cause', () => {
    const cause = new Error('no')
    const hostile = new Proxy(
      {},
      {
        ownKeys() {
          throw cause
        },
      },
    )
    expect(() => checkNames('build a network', hostile, KNOWN)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION_TYPE',
        message: 'Cannot build a network as the options cannot be read: an object that cannot be read',
        cause,
      }),
    )
  })

  it('looks at own names alone', () => {
    checkNames('build a network', Object.create({ unknown: 1 }) as object, KNOWN)
  })
})

describe('checkIsObject', () => {
  it('names the argument', () => {
    expect(() => checkIsObject('save', 'metrics', 3)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION_TYPE',
        message: 'Cannot save as metrics must be an object: current value is 3',
        argument: 'metrics',
      }),
    )
    checkIsObject('save', 'metrics', [])
  })
})

describe('the distance of a suggestion', () => {
  const suggestion = (option: string, known: readonly string[]) => {
    try {
      checkNames('build', { [option]: 1 }, known)
    } catch (error) {
      return (error as { suggestion?: string }).suggestion
    }
    return 'accepted'
  }

  it.each([
    ['seedAB', ['seed'], 'seed'],
    ['seedABC', ['seed'], undefined],
    // A third of the letters may differ in a long name.
    ['numberOfLayers', ['numLayers'], undefined],
    ['numberLayers', ['numLayers'], 'numLayers'],
    ['beta', ['beta1', 'beta2'], 'beta1'],
    ['beta2x', ['beta1', 'beta2'], 'beta2'],
  ])('of %s among %o', (option, known, expected) => {
    expect(suggestion(option, known)).toBe(expected)
  })
})

describe('the types of checkOptionNames and checkOptions', () => {
  interface Options {
    readonly seed: number
    readonly isFast?: boolean | undefined
  }
  const options: Options = { seed: 1 }

  it('refuse a list or a table that lacks an option, or has another', () => {
    checkOptionNames('test', options, ['seed', 'isFast'])
    // @ts-expect-error isFast is not listed
    expect(() => checkOptionNames('test', { isFast: true, ...options }, ['seed'])).toThrow(coded('ERR_UNKNOWN_OPTION'))
    // @ts-expect-error speed is not among the options
    checkOptionNames('test', options, ['seed', 'isFast', 'speed'])
    checkOptions('test', options, { seed: NUMBER, isFast: optional(FLAG) })
    // @ts-expect-error isFast has no rule
    checkOptions('test', options, { seed: NUMBER })
    // @ts-expect-error speed is not among the options
    checkOptions('test', options, { seed: NUMBER, isFast: optional(FLAG), speed: optional(NUMBER) })
  })

  it('refuse a table with a rule for values of another kind', () => {
    // @ts-expect-error seed is not a string
    expect(() => checkOptions('test', options, { seed: TEXT, isFast: optional(FLAG) })).toThrow(
      coded('ERR_INVALID_OPTION_TYPE'),
    )
    // @ts-expect-error isFast may be undefined
    expect(() => checkOptions('test', options, { seed: NUMBER, isFast: FLAG })).toThrow(
      coded('ERR_INVALID_OPTION_TYPE'),
    )
    // @ts-expect-error seed is required
    checkOptions('test', options, { seed: optional(NUMBER), isFast: optional(FLAG) })
  })
})

describe('choiceAdvice', () => {
  it.each([
    ['mse', 'mean_squared_error'],
    ['MSELoss', 'mean_squared_error'],
    ['meanSquaredError', 'mean_squared_error'],
    ['sparse_categorical_crossentropy', 'softmax_cross_entropy'],
    ['binary_crossentropy', 'sigmoid_cross_entropy'],
    ['Adam', 'adam'],
    ['bidirectonal', 'bidirectional'],
    ['pt', 'safetensors'],
  ])('suggests for %s the choice %s', (value, meant) => {
    expect(choiceAdvice(value, LOSSES)).toBe(`Did you mean ${meant}?`)
    expect(() => checkOptions('fit', { loss: value }, { loss: oneOf(LOSSES) })).toThrow(
      `current value is "${value}". Did you mean ${meant}?`,
    )
  })

  it.each(['gelu', 'selu', 'hinge', '', 3, null])('suggests nothing for %o', (value) => {
    expect(choiceAdvice(value, LOSSES)).toBeUndefined()
  })
})
