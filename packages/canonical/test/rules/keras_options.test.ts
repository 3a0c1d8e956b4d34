import { expect, it } from 'vitest'
import { unreadKerasOption } from '../../src/rules/index.js'

it.each([
  ['an option that is read', { units: 2 }, undefined],
  ['options without effect', { name: 'a', kernel_initializer: 'zeros', dtype: 'float32' }, undefined],
  ['an option that is null', { rank: null }, undefined],
  ['another option', { units: 2, rank: 4 }, 'it has an option that is not known here, rank: current value is 4'],
])('unreadKerasOption of %s', (_, config, rule) => {
  expect(unreadKerasOption(config, (option) => option === 'units')).toBe(rule)
})
