import { expect, test } from 'vitest'
import { hotLoop, spillsOf } from '../checks/hot_loops.mjs'
import { listedFunctions } from '../checks/wasm_hot_loops.mjs'

const LISTING = `--- WebAssembly code ---
name: FourChunks
index: 3
kind: wasm function
Instructions (size = 10)
0x345b4dc3ff40     0  55                   push rbp
0x345b4dc3ff41     1  0f8641010000         jna 0x345b4dc4009a  <+0x15a>

Safepoints (stack slots = 5, entries = 1, byte size = 14)
0x345b4dc3ff63     23  slots (sp->fp): 00000

--- End code ---
`

test('a listing of V8 is read up to the tables behind the instructions', () => {
  expect([...listedFunctions(LISTING)]).toEqual([
    [
      'FourChunks',
      [
        { offset: 0, bytes: '55', text: 'push rbp' },
        { offset: 1, bytes: '0f8641010000', text: 'jna 0x345b4dc4009a  <+0x15a>' },
      ],
    ],
  ])
})

test('accesses to the stack of a hot loop are counted, of compilers and of V8', () => {
  const body = ['vfmadd231ps %xmm8, %xmm9, %xmm6', 'vmovups %xmm3, -112(%rbp)', 'vmovups 8(%rsp), %xmm3', 'jg .L1']
  const loop = hotLoop(['push %rbp', '.L1:', 'cmpq -96(%r13), %rsp', ...body])
  expect(loop.multiplyAdds).toBe(1)
  expect(spillsOf(loop)).toBe(2)
})
