import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { importWeights, openCheckpoint } from '@cudnn-rnn/rnn'
import { detectNetworks } from '@cudnn-rnn/rnn/saveable'
import { expect, it } from 'vitest'
import { run } from './program_run.js'
import { temporaryDirectory } from './small_run.js'

const fixture = (path: string) => fileURLToPath(new URL(`../../../fixtures/interop/${path}`, import.meta.url))

it('import lists detected networks and unused tensors', async () => {
  const { exitCode, stdout } = await run('import', fixture('pytorch/tagger.safetensors'))
  expect(exitCode).toBe(0)
  expect(stdout).toContain('safetensors: 2 recurrent networks')
  expect(stdout).toContain('encoder: lstm, 1 × 4 units, input 3, from pytorch')
  expect(stdout).toMatch(/Not part of a recurrent network:[\s\S]*embedding\.weight/)
})

it('import --to writes a checkpoint whose networks are detected', async () => {
  const prefix = join(await temporaryDirectory(), 'model')
  const { exitCode, stdout } = await run(
    'import',
    fixture('keras/lstm_stacked.keras'),
    '--stack',
    'first,second',
    '--to',
    prefix,
  )
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining(prefix)])
  const reader = await openCheckpoint(prefix)
  const [network] = detectNetworks(reader.names().map((key) => ({ key, shape: reader.shape(key) })))
  await reader.close()
  expect(network).toMatchObject({ name: 'first+second', structures: [{ cellMode: 'lstm', numLayers: 2, numUnits: 4 }] })
})

it('import prints one JSON object on demand', async () => {
  const { stdout } = await run('import', fixture('onnx/gru.onnx'), '--json')
  expect(JSON.parse(stdout)).toMatchObject({
    format: 'onnx',
    networks: [{ name: 'the_gru', convention: 'onnx', descriptor: { cellMode: 'gru', numUnits: 4 } }],
    unusedTensors: [],
  })
})

it('import fails with both interpretations where a file leaves one open, and --cell decides', async () => {
  const file = fixture('pytorch/rnn_relu.safetensors')
  const open = await run('import', file)
  expect([open.exitCode, open.stderr]).toEqual([1, expect.stringContaining('ERR_WEIGHTS_AMBIGUOUS')])
  expect(open.stderr).toMatch(/say which by --cell\n {2}pytorch rnn_tanh.*\n {2}pytorch rnn_relu/)
  const { exitCode, stdout } = await run('import', file, '--cell', 'rnn_relu')
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('rnn_relu')])
})

it('export writes any weight file for another framework, and replaces none unasked', async () => {
  const directory = await temporaryDirectory()
  const source = join(directory, 'gru.keras')
  await writeFile(source, await readFile(fixture('keras/gru.keras')))
  const first = await run('export', source, '--format', 'safetensors')
  expect([first.exitCode, first.stdout]).toEqual([0, `${source}.safetensors: gru\n`])
  const [before, after] = [await importWeights(source), await importWeights(`${source}.safetensors`)]
  expect(after.networks[0].canonical).toEqual(before.networks[0].canonical)
  const second = await run('export', source, '--format', 'safetensors')
  expect([second.exitCode, second.stderr]).toEqual([1, expect.stringContaining('ERR_FILE_EXISTS')])
})

it('export converts whole models of Keras, and names the tensors of other files that it leaves out', async () => {
  const out = join(await temporaryDirectory(), 'sine.onnx')
  const whole = await run('export', fixture('guide/sine.keras'), '--format', 'onnx', '--out', out)
  expect([whole.exitCode, whole.stdout]).toEqual([0, `${out}: the whole model\n`])
  const part = await run('export', fixture('guide/sine.pt'), '--format', 'onnx', '--out', out)
  const missing = 'Not in the file: model.head.weight, model.head.bias'
  expect([part.exitCode, part.stdout]).toEqual([0, `${out}: model.memory\n${missing}\n`])
})

it.runIf(process.platform !== 'win32')(
  'export --out replaces a symbolic link, and states why a file cannot be written',
  async () => {
    const directory = await temporaryDirectory()
    const [out, target] = [join(directory, 'gru.npz'), join(directory, 'precious')]
    await writeFile(target, 'precious')
    await symlink(target, out)
    const source = fixture('keras/gru.keras')
    expect((await run('export', source, '--format', 'npz', '--out', out)).exitCode).toBe(0)
    expect(await readFile(target, 'utf8')).toBe('precious')
    expect((await importWeights(out)).networks).toHaveLength(1)
    const refused = await run('export', source, '--format', 'npz', '--out', join(target, 'gru.npz'))
    expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringMatching(/ERR_OUTPUT_FILE.*ENOTDIR/)])
  },
)

it('import lists a network that only a cell computes, and refuses to write it', async () => {
  const file = fixture('onnx/lstm_clip.onnx')
  const { exitCode, stdout } = await run('import', file)
  expect([exitCode, stdout]).toEqual([
    0,
    expect.stringContaining('which only LSTMBlockCell computes, with preactivationClip 0.5'),
  ])
  expect(stdout).toContain('The whole model, in a program: openModel(file, { ort }) of @cudnn-rnn/rnn')
  const written = await run('import', file, '--to', join(await temporaryDirectory(), 'model'))
  expect([written.exitCode, written.stderr]).toEqual([
    1,
    expect.stringMatching(/ERR_NO_NETWORK.*the_lstm, which only LSTMBlockCell computes/),
  ])
})

it('import prints a note that all networks of a file have once', async () => {
  const { stdout } = await run('import', fixture('keras/lstm_stacked.weights.h5'))
  expect(stdout).toContain('keras-h5: 2 recurrent networks')
  expect(stdout.match(/The file holds weights alone/g)).toHaveLength(1)
  expect(stdout).toContain('Each: The file holds weights alone')
})

it('import lists the tensors of a file without a recurrent network', async () => {
  const { exitCode, stdout } = await run('import', fixture('flax/bfloat16.msgpack'))
  expect([exitCode, stdout]).toEqual([
    0,
    expect.stringMatching(/: no recurrent network, and no operator[\s\S]*cell\/a\/kernel/),
  ])
})

it('import accepts the conventions of its option', async () => {
  const { exitCode, stderr } = await run('import', fixture('keras/gru.keras'), '--as', 'bogus')
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('keras-cudnn')])
})

/** A safetensors file of one tensor. */
async function fileWith(name: string, dtype: string): Promise<string> {
  const header = Buffer.from(JSON.stringify({ [name]: { dtype, shape: [1], data_offsets: [0, 4] } }))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(header.length))
  const path = join(await temporaryDirectory(), 'model.safetensors')
  await writeFile(path, Buffer.concat([length, header, Buffer.alloc(4)]))
  return path
}

it('import shows the controls in names of a file and obeys none', async () => {
  const path = await fileWith('\x1b]0;owned\x07\x1b[2Ja\nfake row\u009b8m\u202e', 'F\x1b[8m')
  for (const options of [[], ['--json']]) {
    const { exitCode, stdout } = await run('import', path, ...options)
    expect(exitCode).toBe(0)
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
    expect(stdout).not.toMatch(/^fake row/m)
    expect(stdout).toContain('owned')
  }
})

it('import shows the controls of a name that an error quotes', async () => {
  const { exitCode, stderr } = await run('import', await fileWith('\x1b[2J\nfake\u202e', 'F64'))
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('\\x1b[2J\\nfake\\u202e')])
})
