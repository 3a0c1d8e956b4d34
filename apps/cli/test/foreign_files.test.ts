import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { run } from './program_run.js'
import { temporaryDirectory } from './small_run.js'

const WITHIN = Buffer.from([0x0a, 0x0e, 0x0a, 0x05, ...Buffer.from('abcdefghijkl')])

it.each([
  ['a.tflite', Buffer.from('\x1c\0\0\0TFL3\0\0\0\0'), /ERR_WEIGHTS_FORMAT.*TensorFlow Lite/],
  ['saved_model.pb', Buffer.from([0x08, 0x01, 0x12, WITHIN.length, ...WITHIN]), /ERR_WEIGHTS_FORMAT.*SavedModel/],
  ['a.mlmodel', Buffer.from([0x08, 0x04, 0x12, WITHIN.length, ...WITHIN]), /ERR_WEIGHTS_FORMAT.*Core ML/],
  ['a.pb', Buffer.from('\x0a\x10\x0a\x05lstm1\x12\x07Placeho'), /ERR_WEIGHTS_FORMAT.*frozen graph/],
  ['a.txt', Buffer.from('some text'), /ERR_WEIGHTS_FORMAT.*of no known format/],
  ['empty', Buffer.alloc(0), /ERR_WEIGHTS_FORMAT.*It is empty/],
])(
  'inspect, verify, convert and import say what %s is, and call it no damaged checkpoint',
  async (name, bytes, message) => {
    const directory = await temporaryDirectory()
    const path = join(directory, name)
    await writeFile(path, bytes)
    for (const command of ['inspect', 'verify', 'import']) {
      expect(await run(command, path)).toEqual({ exitCode: 1, stdout: '', stderr: expect.stringMatching(message) })
    }
    const converted = await run('convert', path, join(directory, 'to'), '--to', 'cells')
    expect(converted).toEqual({ exitCode: 1, stdout: '', stderr: expect.stringMatching(message) })
  },
)

it.each([
  ['keras/lstm_stacked.keras', 'keras-archive'],
  ['guide/sine.pt', 'pytorch'],
])('inspect of %s names its format and the command that reads it', async (name, format) => {
  const path = fileURLToPath(new URL(`../../../fixtures/interop/${name}`, import.meta.url))
  const stderr = expect.stringContaining(
    `[ERR_NO_CHECKPOINT]: Cannot open a checkpoint as ${path} must be one: it is a file in the format ${format}, which import reads`,
  )
  expect(await run('inspect', path)).toEqual({ exitCode: 1, stdout: '', stderr })
})

it('inspect of a SavedModel reads its variables', async () => {
  const directory = await temporaryDirectory()
  await mkdir(join(directory, 'variables'))
  await writeFile(join(directory, 'variables/variables.index'), 'damaged')
  const { exitCode, stdout } = await run('inspect', directory)
  expect([exitCode, stdout]).toEqual([
    1,
    expect.stringMatching(/^damaged \[ERR_CHECKPOINT_CORRUPT\][\s\S]*variables\.index/),
  ])
})

it.runIf(process.platform === 'linux').each([
  ['link to nothing', 'nothing', 'NOT_FOUND'],
  ['link to itself', 'model', 'IO'],
  ['file that cannot be read', '/proc/self/mem', 'CORRUPT'],
])('inspect, verify and convert refuse a %s with a code', async (_, target, code) => {
  const directory = await temporaryDirectory()
  const path = join(directory, 'model')
  await symlink(target, path)
  for (const command of [['inspect'], ['verify'], ['convert', join(directory, 'to'), '--to', 'cells']] as const) {
    const [name, ...more] = command
    const { exitCode, stdout, stderr } = await run(name, path, ...more)
    expect([exitCode, stdout + stderr]).toEqual([1, expect.stringContaining(`[ERR_CHECKPOINT_${code}]`)])
  }
})
