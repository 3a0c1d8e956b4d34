import { expect, it } from 'vitest'
import * as cudnn from '../src/index.js'

it('@cudnn-rnn/cudnn exports exactly these names', () => {
  expect(Object.keys(cudnn).sort()).toMatchInlineSnapshot(`
    [
      "CudnnError",
      "inspectCudnn",
      "openCudnnBackend",
      "openNccl",
    ]
  `)
})
