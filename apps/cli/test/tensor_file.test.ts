import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readTensorFile, writeTensorFile } from '../src/tensor_file.js'
import { coded, temporaryDirectory } from './small_run.js'

const TENSORS = new Map([
  ['kernel', { data: Float32Array.of(1, -2, 3.5, Math.fround(1e-30), 0, -0), shape: [2, 3] }],
  ['absent', { data: new Float32Array(0), shape: [4, 0] }],
])

/** `safetensors.numpy.save({"a": np.float32([1, 2])})`, safetensors 0.8.0. */
const WRITTEN_BY_PYTHON = Buffer.concat([
  Buffer.from([0x38, 0, 0, 0, 0, 0, 0, 0]),
  Buffer.from('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'.padEnd(56)),
  Buffer.from(Float32Array.of(1, 2).buffer),
])

describe('readTensorFile', () => {
  it('reads back what writeTensorFile wrote', async () => {
    const path = join(await temporaryDirectory(), 'a.safetensors')
    await writeTensorFile(path, TENSORS)
    expect(await readTensorFile(path)).toEqual(TENSORS)
  })

  it('reads a file that the safetensors library wrote', async () => {
    const path = join(await temporaryDirectory(), 'python.safetensors')
    await writeFile(path, WRITTEN_BY_PYTHON)
    expect(await readTensorFile(path)).toEqual(new Map([['a', { data: Float32Array.of(1, 2), shape: [2] }]]))
  })

  it('refuses a file that is missing or cut short anywhere', async () => {
    const path = join(await temporaryDirectory(), 'a.safetensors')
    await expect(readTensorFile(path)).rejects.toMatchObject(coded('ERR_TENSOR_FILE', { path }))
    await writeTensorFile(path, TENSORS)
    const whole = await readFile(path)
    for (let length = 0; length < whole.length; length++) {
      await writeFile(path, whole.subarray(0, length))
      await expect(readTensorFile(path), `${length} bytes`).rejects.toMatchObject(coded('ERR_TENSOR_FILE'))
    }
  })
})
