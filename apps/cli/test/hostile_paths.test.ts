import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { run } from './program_run.js'
import { temporaryDirectory, writeSmallText } from './small_run.js'

/** A terminal takes it as its new title. */
const NAME = '\x1b]0;X\x07\u202e'

it.skipIf(process.platform === 'win32')(
  'a path with control characters is printed in visible ones',
  async () => {
    const directory = await temporaryDirectory()
    const [out, text] = [join(directory, NAME), join(directory, `${NAME}.txt`)]
    await rename(await writeSmallText(directory), text)
    const sizes = '--units 6 --embedding 4 --batch 3 --time 6'.split(' ')
    const train = ['train', '--text', text, '--out', out, ...sizes, '--steps', '8']
    const commands = [
      [0, ...train, '--max-seconds', '0'],
      [1, ...train],
      [0, 'train', '--resume', '--out', out],
      [0, 'train', '--resume', '--steps', '9', '--json', '--out', out],
      [1, 'train', '--resume', '--steps', '2', '--out', out],
      [0, 'export', out, '--format', 'onnx'],
      [1, 'export', out, '--format', 'onnx'],
      [1, 'export', out, '--format', 'npz', '--network', NAME],
      [0, 'import', `${out}.onnx`],
      [0, 'import', `${out}.onnx`, '--to', join(directory, `to${NAME}`)],
      [0, 'inspect', out],
      [0, 'inspect', out, '--json'],
      [0, 'verify', out],
      [0, 'convert', out, join(directory, `as${NAME}`), '--to', 'cells'],
      [0, 'layout', '--html', `${out}.html`],
      [1, 'sample', `${out}-none`],
      [1, 'inspect', `${out}-none`],
      [1, 'forecast', '--csv', text],
      [1, 'classify', '--jsonl', text],
      [1, 'classify', '--run', out, text],
      [2, NAME],
      [2, 'train', '--text', text, `--steps=${NAME}`],
    ] as const
    for (const [exitCode, ...args] of commands) {
      const found = await run(...args)
      expect([args[0], found.exitCode, found.stderr]).toEqual([
        args[0],
        exitCode,
        exitCode === 0 ? '' : expect.anything(),
      ])
      expect(found.stdout + found.stderr, args.join(' ')).not.toMatch(/(?![\n\t])[\p{Cc}\u202e]/u)
    }
  },
  60_000,
)
