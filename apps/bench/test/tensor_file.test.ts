import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { readTensorFile, writeTensorFile } from '../src/tensor_file.js'

const folder = mkdtempSync(join(tmpdir(), 'tensor-file-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe('writeTensorFile', () => {
  it('writes little-endian float32, tensor after tensor', () => {
    const path = join(folder, 'plain')
    const file = writeTensorFile(path, {
      a: { data: Float32Array.of(1, -2), shape: [2, 1] },
      b: { data: new Float32Array([9, 0.5, 9]).subarray(1, 2), shape: [1] },
    })
    expect(readFileSync(path).toString('hex')).toBe('0000803f000000c00000003f')
    expect(file.tensors).toEqual([
      { name: 'a', shape: [2, 1] },
      { name: 'b', shape: [1] },
    ])
  })
})

describe('readTensorFile', () => {
  it('reads the tensors it wrote, empty ones included', () => {
    const tensors = {
      x: { data: Float32Array.of(Math.fround(0.1), Number.NaN), shape: [1, 2] },
      none: { data: new Float32Array(), shape: [3, 0] },
    }
    expect(readTensorFile(writeTensorFile(join(folder, 'round'), tensors))).toEqual(tensors)
  })

  it('refuses a file that is too short', () => {
    const file = writeTensorFile(join(folder, 'short'), { x: { data: Float32Array.of(1), shape: [1] } })
    const longer = { ...file, tensors: [{ name: 'x', shape: [2] }] }
    expect(() => readTensorFile(longer)).toThrowError(coded('ERR_TENSOR_FILE'))
  })
})
