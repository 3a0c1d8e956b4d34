import { expect, it } from 'vitest'
import * as cpu from '../src/index.js'

it('@cudnn-rnn/cpu exports exactly these names', () => {
  expect(Object.keys(cpu).sort()).toMatchInlineSnapshot(`
    [
      "INSTRUCTION_SETS",
      "openCpuBackend",
    ]
  `)
})
