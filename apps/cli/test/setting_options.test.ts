import { resolve } from 'node:path'
import { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import {
  addSettings,
  changeable,
  dataPath,
  givenOptions,
  resumedSettings,
  setting,
  settingsOf,
} from '../src/setting_options.js'
import { checkUseOptions, flagOf } from '../src/use_options.js'

interface Settings {
  readonly sizes: { readonly units: number }
  readonly learningRate: number
  readonly steps: number
  readonly series?: string
  readonly csv?: string
}

const SETTINGS = [
  setting('sizes.units', '--units <n>', '', 1, 8),
  setting('learningRate', '--learning-rate <x>', '', Number, 0.01),
  setting('series', '--series <name>', ''),
  changeable('steps', '--steps <n>', '', 2, 600),
  dataPath('csv', '--csv <file>', ''),
]
const saved: Settings = { sizes: { units: 8 }, learningRate: 0.01, steps: 600 }

function parsed(...args: string[]): Command {
  return addSettings(new Command().option('--json'), SETTINGS).parse(args, { from: 'user' })
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

describe('settingsOf', () => {
  it('has each option at its place, with defaults and without those that have none', () => {
    const options = parsed('--units', '3', '--csv', 'a.csv').opts()
    expect(settingsOf(SETTINGS, options)).toEqual({
      sizes: { units: 3 },
      learningRate: 0.01,
      steps: 600,
      csv: resolve('a.csv'),
    })
  })

  it('makes the parts of places without a value', () => {
    expect(settingsOf([setting('shape.season', '--season <n>', '', 1)], {})).toEqual({ shape: {} })
  })
})

describe('resumedSettings', () => {
  const resume = (asked: Partial<Settings>, given = Object.keys(asked)) =>
    resumedSettings('runs/a', SETTINGS, new Set(given), { ...saved, ...asked }, saved)
  const check = (asked: Partial<Settings>) => () => resume(asked)

  it('keeps the settings of the run, but for those that are given and may change', () => {
    expect(resume({})).toEqual(saved)
    expect(resume({ learningRate: 0.01, steps: 900 })).toEqual({ ...saved, steps: 900 })
    expect(resume({ learningRate: 0.5, steps: 900 }, [])).toEqual(saved)
    expect(resume({ csv: '/moved.csv' })).toEqual({ ...saved, csv: '/moved.csv' })
    expect(saved.steps).toBe(600)
  })

  it('takes the paths of data that are given in place of all those of the run', () => {
    const settings = [dataPath('source.csv', '--csv <file>', ''), dataPath('source.folder', '--folder <dir>', '')]
    const of = (given: readonly string[]) =>
      resumedSettings('runs/a', settings, new Set(given), { source: { csv: '/b' } }, { source: { folder: '/a' } })
    expect(of([])).toEqual({ source: { folder: '/a' } })
    expect(of(['csv'])).toStrictEqual({ source: { csv: '/b' } })
  })

  it('refuses another value of a setting inside a part', () => {
    expect(() => resume({ sizes: { units: 9 } }, ['units'])).toThrow(
      /with --units 9 as the run was begun with --units 8/,
    )
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

it('checkUseOptions names the first option of training that is given with --run', () => {
  expect(() => checkUseOptions('forecast', new Set(['run', 'csv']), ['run', 'csv'])).not.toThrow()
  expect(() => checkUseOptions('forecast', new Set(['run', 'weightDecay', 'steps']), ['run'])).toThrow(
    expect.objectContaining({
      ...{ code: 'ERR_USE_OPTION', option: '--weight-decay' },
      message: expect.stringMatching(/^Cannot forecast with --run as --weight-decay is an option of training/),
    }),
  )
})
