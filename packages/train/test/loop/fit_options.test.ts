import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { checkFitOptions, type FitOptions } from '../../src/loop/fit_options.js'

/** The least that fit() takes; nothing of it is called. */
const required = {
  data: { iterate: () => {} },
  batchGradients: async () => {},
  optimizer: { apply: () => {}, variables: [], backend: { ops: {} } },
  learningRate: 0.1,
  maxSteps: 10,
} as unknown as FitOptions<unknown>

const check = (changed: Readonly<Record<string, unknown>>) => () =>
  checkFitOptions({ ...required, ...changed } as FitOptions<unknown>)

describe('checkFitOptions', () => {
  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['the required options alone', {}],
    ['a schedule', { learningRate: () => 0.1 }],
    ['a rate of 0, and no steps', { learningRate: 0, maxSteps: 0 }],
    ['clipping', { clipNorm: 0, clipValue: 2.5 }],
    ['evaluations', { evaluate: async () => ({}), evaluateEvery: 5, saveEvery: 1 }],
    ['no evaluations between', { evaluateEvery: Number.POSITIVE_INFINITY, saveEvery: undefined }],
    [
      'early stopping',
      { evaluate: async () => ({}), earlyStopping: { metric: 'loss', patience: 3, mode: 'min', minDelta: 0.1 } },
    ],
    ['a saver', { saver: { save: () => {}, restore: () => {} } }],
    ['a wire', { wire: 'bfloat16' }],
    ['a state', { state: { tensors: [], batchAxes: [0], save: () => {}, restore: () => {} } }],
    ['options that are undefined', { accumulate: undefined, maxSkipped: undefined, signal: undefined }],
    ['callbacks', { onStart: () => {}, onStep: () => {}, signal: new AbortController().signal }],
  ])('takes %s', (_, changed) => {
    expect(check(changed)).not.toThrow()
  })

  it.each<[string, unknown[]]>([
    ['data', [undefined, null, [], { iterate: true }]],
    // A function has the method apply of Function.prototype.
    ['optimizer', [undefined, null, {}, () => {}, { apply: () => {} }, { apply: () => {}, variables: [] }]],
    ['batchGradients', [undefined, null, {}]],
    ['learningRate', [undefined, null, '0.1']],
    ['evaluate', [3, {}]],
    ['saver', [{ save: () => {} }, 'folder']],
    ['communicator', [{}, { rank: 0, size: 1 }]],
    ['onStep', ['log']],
    ['state', [3, { save: 3 }]],
  ])('refuses %s of another kind', (option, values) => {
    for (const value of values) expect(check({ [option]: value })).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })

  it.each<[string, unknown[]]>([
    ['learningRate', [-0.1, Number.NaN, Number.POSITIVE_INFINITY]],
    ['maxSteps', [undefined, -1, Number.NaN, Number.POSITIVE_INFINITY, '10']],
    ['maxSkipped', [-1, Number.NaN]],
    ['accumulate', [0, -1, Number.NaN, null]],
    ['evaluateEvery', [0, -5, Number.NaN]],
    ['saveEvery', [0, Number.NEGATIVE_INFINITY]],
    ['clipNorm', [-1, Number.NaN]],
    ['clipValue', [-1, Number.POSITIVE_INFINITY]],
  ])('refuses %s out of its range', (option, values) => {
    for (const value of values) {
      expect(check({ [option]: value })).toThrow(coded('ERR_HYPERPARAMETER', { option, value }))
    }
  })

  it('refuses options by another name or value', () => {
    expect(check({ epochs: 3 })).toThrow(coded('ERR_UNKNOWN_OPTION'))
    expect(check({ earlyStopping: { monitor: 'loss' } })).toThrow(
      coded('ERR_UNKNOWN_OPTION', { option: 'earlyStopping.monitor', suggestion: 'metric' }),
    )
    expect(check({ earlyStopping: { metric: 'loss', mode: 'least' } })).toThrow(coded('ERR_INVALID_OPTION'))
    for (const changed of [{ patience: 0 }, { patience: Number.NaN }, { minDelta: Number.NaN }]) {
      expect(check({ earlyStopping: { metric: 'loss', ...changed } })).toThrow(coded('ERR_INVALID_OPTION'))
    }
    expect(check({ wire: 'float16' })).toThrow(coded('ERR_INVALID_OPTION'))
    expect(check({ earlyStopping: { metric: 'loss' } })).toThrow(
      coded('ERR_INVALID_OPTION', { option: 'earlyStopping' }),
    )
  })

  it('refuses fractions of steps and batches, at which nothing would happen', () => {
    for (const option of ['maxSteps', 'maxSkipped', 'accumulate', 'evaluateEvery', 'saveEvery']) {
      expect(check({ [option]: 2.5 })).toThrow(coded('ERR_HYPERPARAMETER', { option, value: 2.5 }))
    }
  })
})
