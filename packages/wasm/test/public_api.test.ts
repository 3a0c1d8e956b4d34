import { expect, it } from 'vitest'
import * as wasm from '../src/index.js'
import * as slim from '../src/slim.js'

it('@cudnn-rnn/wasm exports exactly these names', () => {
  expect(Object.keys(wasm).sort()).toMatchInlineSnapshot(`
    [
      "WASM_INSTRUCTION_SETS",
      "hasInstructionSet",
      "openWasmBackend",
    ]
  `)
  expect(Object.keys(slim).sort()).toEqual(Object.keys(wasm).sort())
})
