import { expect, it } from 'vitest'
import { numberOfText } from '../../src/rules/index.js'

it('reads decimal numbers', () => {
  const texts = ['5', ' 5 ', '+5', '-5', '5.', '.5', '-.5e-3', '1E3', '007', '1e-999', '\ufeff5']
  expect(texts.map(numberOfText)).toEqual([5, 5, 5, -5, 5, 0.5, -0.0005, 1000, 7, 0, 5])
})

it.each([
  '',
  ' ',
  '0x10',
  '0b1',
  '0o7',
  '1_000',
  '1,000',
  '1 000',
  'Infinity',
  '-Infinity',
  'NaN',
  '1e999',
  '-1e999',
  '5n',
  '--5',
  '+',
  '.',
  'e5',
  '1e',
  '٣',
  '1/2',
  '5%',
])('takes %j for no number', (text) => {
  expect(numberOfText(text)).toBeNaN()
})
