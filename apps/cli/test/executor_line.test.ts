import { expect, it } from 'vitest'
import { executorLine, executorName } from '../src/executor_line.js'

it('executorLine is one short sentence after any attempts', () => {
  const tried =
    'cudnn: libcudnn.so.9: cannot open shared object file (no such file); cudnn: libcudnn.so.9 was not found in /usr/lib'
  const backend = { reason: `cpu: avx512, float32, 2 threads (${tried})` }
  expect(executorName(backend)).toBe('cpu: avx512, float32, 2 threads')
  expect(executorLine(backend)).toMatch(/^cpu: avx512, float32, 2 threads \(no cudnn: see .+ doctor\)$/)
})

it('executorLine names every executor that was passed over, once', () => {
  const backend = { reason: 'reference: plain TypeScript (cudnn: no addon; cpu: a: none; cpu: b: none)' }
  expect(executorLine(backend)).toMatch(/^reference: plain TypeScript \(no cudnn, no cpu: see .+ doctor\)$/)
})

it('executorLine leaves the reason of the best executor as it is', () => {
  const reason = 'cudnn: NVIDIA GeForce RTX 3050 (Laptop), cuDNN 9.24.0, float32'
  expect(executorLine({ reason })).toBe(reason)
})
