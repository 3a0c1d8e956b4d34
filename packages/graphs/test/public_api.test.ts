import { expect, it } from 'vitest'
import * as graphs from '../src/index.js'

it('@cudnn-rnn/graphs exports these names', () => {
  expect(Object.keys(graphs)).toEqual(['openGraph'])
})
