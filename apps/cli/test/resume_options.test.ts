import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { changedOptions, checkFixedOptions, type FixedOption, givenOptions } from '../src/resume_options.js'
import { checkUseOptions, flagOf } from '../src/use_options.js'

interface Settings {
  readonly learningRate: number
  readonly steps: number
  readonly series?: string
}

const FIXED: readonly FixedOption<Settings>[] = [
  { name: 'learningRate', value: ({ learningRate }) => learningRate },
  { name: 'series', value: ({ series }) => series },
]
const saved: Settings = { learningRate: 0.01, steps: 600 }

function parsed(...args: string[]): Command {
  const command = new Command().option('--learning-rate <x>', '', Number, 0.01).option('--steps <n>').option('--json')
  return command.parse(args, { from: 'user' })
}

it('flagOf writes a name as it is given on the command line', () => {
  expect(['json', 'weightDecay', 'evaluateEvery'].map(flagOf)).toEqual(['--json', '--weight-decay', '--evaluate-every'])
})

describe('givenOptions', () => {
  it('has the options of the command line, not those with a default', () => {
    expect(givenOptions(parsed('--steps', '3', '--json'))).toEqual(new Set(['steps', 'json']))
  })

  it('has an option that is given with the value of its default', () => {
    expect(givenOptions(parsed('--learning-rate', '0.01'))).toEqual(new Set(['learningRate']))
  })
})

describe('checkFixedOptions', () => {
  const check = (asked: Partial<Settings>) => () =>
    checkFixedOptions('runs/a', FIXED, new Set(Object.keys(asked)), { ...saved, ...asked }, saved)

  it('takes options that are not given, equal those of the run, or may change', () => {
    expect(check({})).not.toThrow()
    expect(check({ learningRate: 0.01, steps: 900 })).not.toThrow()
    const other = { ...saved, learningRate: 0.5 }
    expect(() => checkFixedOptions('runs/a', FIXED, new Set(), other, saved)).not.toThrow()
  })

  it('refuses another value, with both values in the message', () => {
    expect(check({ learningRate: 0.02 })).toThrow(
      expect.objectContaining({
        ...{ code: 'ERR_RESUME_OPTION', option: '--learning-rate', value: 0.02, saved: 0.01 },
        message: expect.stringContaining(
          'runs/a with --learning-rate 0.02 as the run was begun with --learning-rate 0.01',
        ),
      }),
    )
  })

  it('refuses an option that the run does not have', () => {
    expect(check({ series: 'shop' })).toThrow(/begun with --series \(none\)/)
  })
})

it('changedOptions has the options that are given, and no others', () => {
  const asked = { learningRate: 0.5, steps: 900, series: undefined }
  expect(changedOptions(new Set(['steps', 'json']), asked, ['steps', 'learningRate'])).toEqual({ steps: 900 })
  expect(changedOptions(new Set(), asked, ['steps'])).toEqual({})
})

it('checkUseOptions names the first option of training that is given with --run', () => {
  expect(() => checkUseOptions('forecast', new Set(['run', 'csv']), ['run', 'csv'])).not.toThrow()
  expect(() => checkUseOptions('forecast', new Set(['run', 'weightDecay', 'steps']), ['run'])).toThrow(
    expect.objectContaining({
      ...{ code: 'ERR_USE_OPTION', option: '--weight-decay' },
      message: expect.stringMatching(/^Cannot forecast with --run as --weight-decay is an option of training/),
    }),
  )
})
