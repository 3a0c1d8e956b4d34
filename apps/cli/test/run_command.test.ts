import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { encodeOnnxModel } from '@cudnn-rnn/rnn/interop'
import { expect, it } from 'vitest'
import { run } from './program_run.js'
import { temporaryDirectory } from './small_run.js'

/** A sum of rows of two numbers. */
async function model(): Promise<string> {
  const value = (name: string) => ({ name, elementType: 'float32', shape: ['batch', 2] }) as const
  const nodes = [
    { opType: 'Add', name: 'add', inputs: ['x', 'state'], outputs: ['state_out'] },
    { opType: 'Neg', name: 'neg', inputs: ['state_out'], outputs: ['y'] },
  ]
  const [inputs, outputs] = [
    [value('x'), value('state')],
    [value('state_out'), value('y')],
  ]
  const path = join(await temporaryDirectory(), 'sum.onnx')
  await writeFile(path, encodeOnnxModel({ name: 'sum', nodes, initializers: {}, inputs, outputs }, 8, 17))
  return path
}

/** A WAV file of two channels. */
function wav(samples: readonly number[], { bits = 16, code = 1 } = {}): Uint8Array {
  const bytes = new Uint8Array(44 + (samples.length * bits) / 8)
  const view = new DataView(bytes.buffer)
  const put = (at: number, text: string) => bytes.set(new TextEncoder().encode(text), at)
  put(0, 'RIFF')
  put(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, code, true)
  view.setUint16(22, 2, true)
  view.setUint16(34, bits, true)
  put(36, 'data')
  view.setUint32(40, bytes.length - 44, true)
  for (const [k, sample] of samples.entries()) {
    if (code === 3) view.setFloat32(44 + 4 * k, sample, true)
    else view.setInt16(44 + 2 * k, sample * 32_768, true)
  }
  return bytes
}

/** Whether ONNX Runtime's binary is installed and loads where the program looks for it. */
const hasRuntime = await Promise.resolve(import.meta.url)
  .then((from) => createRequire(from)('onnxruntime-node'))
  .then(
    () => true,
    () => false,
  )

it.runIf(hasRuntime)('run carries the state over the rows of a CSV file', async () => {
  const path = await model()
  const csv = join(path, '../rows.csv')
  await writeFile(csv, 'left;right\n1;2\n3;4\n')
  const { exitCode, stdout } = await run('run', path, '--csv', csv)
  expect([exitCode, stdout]).toEqual([0, 'step,y[0],y[1]\n0,-1,-2\n1,-4,-6\n'])
  await writeFile(csv, '1,2\n3\n')
  const refused = await run('run', path, '--csv', csv)
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining('row 2 must have 2 numbers: 3')])
})

it.runIf(hasRuntime)('run takes frames of a recording, which may overlap', async () => {
  const path = await model()
  const file = join(path, '../voice.wav')
  const samples = [0.5, 0.5, 0.25, 0.75, 0, 0.5, -0.5, -0.5] // mixed: 0.5, 0.5, 0.25, -0.5
  for (const options of [{}, { bits: 32, code: 3 }]) {
    await writeFile(file, wav(samples, options))
    expect((await run('run', path, '--wav', file)).stdout).toBe('step,y[0],y[1]\n0,-0.5,-0.5\n1,-0.75,0\n')
  }
  const { stdout } = await run('run', path, '--wav', file, '--hop', '1')
  expect(stdout.split('\n').slice(1, 3)).toEqual(['0,0,-0.5', '1,-0.5,-1'])
  await writeFile(file, wav(samples, { bits: 24 }))
  for (const other of [file, `${file}s`, join(path, '..')])
    expect((await run('run', path, '--wav', other)).stderr).toContain('ERR_WAV_FILE')
  expect((await run('run', path)).stderr).toContain('one of --wav and --csv must be given')
})
