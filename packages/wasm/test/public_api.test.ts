import { expect, it } from 'vitest'
import * as wasm from '../src/index.js'

it('@cudnn-rnn/wasm exports exactly these names', () => {
  expect(Object.keys(wasm).sort()).toMatchInlineSnapshot(`
    [
      "WASM_INSTRUCTION_SETS",
      "openWasmBackend",
    ]
  `)
})
