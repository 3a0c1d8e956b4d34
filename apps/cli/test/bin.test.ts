import { type ChildProcess, spawn } from 'node:child_process'
import { access, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { outcome, packagePath, programPath, runProcess, start, usesProgram } from './built_program.js'
import { run } from './program_run.js'
import { temporaryDirectory, writeSmallText } from './small_run.js'

usesProgram()

const TINY = ['--units', '6', '--embedding', '4', '--batch', '3', '--time', '6', '--evaluate-every', '4']

/** A program that sends another one the events of a console: scripts/build/cross/console_event.cc. */
const { CUDNN_RNN_CONSOLE_EVENT } = process.env

/** The ways in which a person interrupts a program. */
const INTERRUPTIONS: readonly (readonly [string, (child: ChildProcess) => void])[] =
  process.platform !== 'win32'
    ? (['SIGINT', 'SIGTERM'] as const).map((signal) => [signal, (child) => child.kill(signal)])
    : ['Ctrl-C', 'Ctrl-Break', 'the closing of the console'].map((name, event) => [
        name,
        ({ pid }) => spawn(`${CUDNN_RNN_CONSOLE_EVENT}`, [String(event), String(pid)], { stdio: 'ignore' }),
      ])

describe('cudnn-rnn', () => {
  it('--help shows where to start and the exit codes', async () => {
    const { exitCode, stdout } = await run('--help')
    expect(exitCode).toBe(0)
    for (const command of ['demo', 'train', 'sample', 'forecast', 'inspect', 'verify', 'convert', 'layout', 'doctor'])
      expect(stdout).toMatch(new RegExp(`^  ${command}  +\\w`, 'm'))
    // A program that is not installed has a longer name in "Start here".
    const [commands = ''] = stdout.split('Start here:')
    expect(commands.split('\n').filter((line) => line.length > 80)).toEqual([])
    expect(stdout).toContain('cudnn-rnn train --text mine.txt')
    expect(stdout).toContain('130 interrupted after saving')
  })

  it('--version is the version of the package', async () => {
    const { version } = JSON.parse(await readFile(join(packagePath, 'package.json'), 'utf8')) as { version: string }
    expect(await runProcess('--version')).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' })
  })

  it('ends its process with the exit code', async () => {
    expect((await runProcess('trian')).exitCode).toBe(2)
    expect(await runProcess('sample', 'no/such/run')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^error \[ERR_NO_RUN\]: Cannot .*\n$/),
    })
  })

  it.skipIf(process.platform === 'win32')('says in one line that its working directory was removed', async () => {
    const directory = await temporaryDirectory()
    const command = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" "$1" doctor'
    const child = spawn('sh', ['-c', command, process.execPath, programPath], { cwd: directory })
    expect(await outcome(child)).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/^error .*cwd\n$/) })
  })

  it('runs by npx in the repository, whose root package has the same name', async () => {
    const root = join(packagePath, '../..')
    const [repository, cli] = await Promise.all(
      [root, packagePath].map(async (path) => JSON.parse(await readFile(join(path, 'package.json'), 'utf8'))),
    )
    expect(repository.name).toBe('cudnn-rnn')
    expect(join(root, repository.bin['cudnn-rnn'])).toBe(join(packagePath, cli.bin['cudnn-rnn']))
  })

  it.each([
    [['trian'], 'Did you mean train?'],
    [['train'], "required option '--text <file>'"],
    [['demo', '--steps', 'many'], "option '--steps <n>' argument 'many' is invalid. It must be an integer >= 1."],
    [['demo', '--dropout', '1.5'], 'It must be a number in 0..1.'],
    [['demo', '--unit', '3'], 'Did you mean --units?'],
    [['layout', '--mode', 'elman'], 'Allowed choices are'],
  ])('%j is not understood: exit code 2', async (args, message) => {
    const { exitCode, stderr } = await run(...args)
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: expect.stringContaining(message) })
  })

  it.each([
    [['train', '--text', 'no/such/file.txt'], 'ERR_TEXT_FILE'],
    [['demo', '--backend', 'gpu', '--out', 'no/such/run'], 'ERR_UNKNOWN_BACKEND'],
    [['sample', 'no/such/run'], 'ERR_NO_RUN'],
    [['train', '--resume', '--out', 'no/such/run'], 'ERR_NO_RUN'],
    [['layout', '--skip-input', '--units', '4', '--input', '3'], 'ERR_SKIP_INPUT_SIZE'],
  ])('%j fails with a coded message and no stack: exit code 1', async (args, code) => {
    const { exitCode, stdout, stderr } = await run(...args)
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^error \\[${code}\\]: Cannot .*\\n$`)),
    })
  })
})

describe('cudnn-rnn doctor', () => {
  it('--json prints one object that a program can read', async () => {
    const { exitCode, stdout } = await run('doctor', '--json')
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ node: process.version, selfTest: { passed: true } })
  })

  it('prints findings as text', async () => {
    const { stdout } = await run('doctor')
    expect(stdout).toContain(process.version)
    expect(stdout).toMatch(/✓ reference/)
    expect(stdout).toMatch(/Self-test +passed/)
  })
})

describe('cudnn-rnn layout', () => {
  it('--json prints the regions, and the table the same offsets', async () => {
    const sizes = ['layout', '--mode', 'gru', '--units', '3', '--input', '2']
    const { weights, size } = JSON.parse((await run(...sizes, '--json')).stdout)
    expect(size).toBe(3 * (3 * 2 + 3 * 3 + 2 * 3))
    expect((await run(...sizes)).stdout).toMatch(new RegExp(`weight_5 .* \\[3,3\\] +${weights[5].offset}\\n`))
  })
})

describe('cudnn-rnn inspect, verify and convert', () => {
  it('list, check and rewrite checkpoints of train', async () => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    await run('train', '--text', await writeSmallText(directory), '--out', out, '--steps', '2', ...TINY, '--json')
    const { exitCode, stdout } = await run('inspect', out)
    expect(exitCode).toBe(0)
    expect(stdout).toContain('format V2, 61 tensors')
    expect(stdout).toMatch(/\nlstm\/layer_0\/forward\/weight_7 +float32 +\[6,6\] +144 +lstm\n/)
    expect(stdout).toContain('lstm (default): lstm, 1 × 6 units unidirectional, input 4\n')
    expect(JSON.parse((await run('inspect', join(out, 'model-2.index'), '--json')).stdout)).toMatchObject({
      prefix: join(out, 'model-2'),
      networks: [{ name: 'lstm/Adam' }, { name: 'lstm/Adam_1' }, { name: 'lstm' }],
    })
    expect((await run('verify', out)).stdout).toMatch(/: 61 tensors, [\d,]+ bytes read: all checksums are right\n$/)

    const cells = join(directory, 'cells')
    const converted = await run('convert', out, cells, '--to', 'cells')
    expect(converted).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('lstm: default → cells; the two') })
    expect((await run('inspect', cells)).stdout).toMatch(
      /\nlstm\/rnn\/multi_rnn_cell\/cell_0\/cudnn_compatible_lstm_cell\/kernel +float32 +\[10,24\]/,
    )
  })

  it('name the damaged part, and exit with 1', async () => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    await run('train', '--text', await writeSmallText(directory), '--out', out, '--steps', '1', ...TINY, '--json')
    const prefix = join(out, 'model-1')
    const data = `${prefix}.data-00000-of-00001`
    const bytes = await readFile(data)
    bytes[5] ^= 1
    await writeFile(data, bytes)
    const verified = await run('verify', prefix)
    expect(verified).toMatchObject({
      exitCode: 1,
      stdout: expect.stringContaining('tensor embedding/embeddings as its checksum'),
    })
    expect(verified.stdout).toContain('1 of them damaged')

    await truncate(data, 100)
    const inspected = await run('inspect', prefix)
    expect(inspected).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('the data files hold 100') })
    expect(inspected.stdout).toContain('embedding/embeddings/Adam')
    await truncate(`${prefix}.index`, 60)
    const index = await run('inspect', prefix)
    expect(index).toMatchObject({ exitCode: 1, stdout: expect.stringContaining('damaged [ERR_CHECKPOINT_CORRUPT]') })
    expect(index.stdout).toContain('model-1.index  60 bytes')
    expect(await run('inspect', join(out, 'model-2'))).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('[ERR_CHECKPOINT_NOT_FOUND]'),
    })
  })
})

describe('cudnn-rnn train', () => {
  it('--json logs every update; then sample writes from the run, the same for the same seed', async () => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    const text = await writeSmallText(directory)
    const { exitCode, stdout, stderr } = await runProcess(
      'train',
      '--text',
      text,
      '--out',
      out,
      '--steps',
      '6',
      ...TINY,
      '--json',
    )
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    const lines = stdout.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).step)).toEqual([1, 2, 3, 4, 5, 6])
    await access(join(out, 'report.html'))

    const options = ['--length', '20', '--seed', '4', '--prompt', 'call']
    const first = await run('sample', out, ...options)
    expect(first).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^call[\s\S]{20}\n$/) })
    expect(await run('sample', out, ...options)).toEqual(first)
    const unknown = await run('sample', out, '--prompt', 'Zebra')
    expect(unknown).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('must contain "Z"') })
  })

  it('prints the baseline, the result, and the command to continue', async () => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    const text = await writeSmallText(directory)
    const { exitCode, stdout } = await run('train', '--text', text, '--out', out, '--max-seconds', '0', ...TINY)
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/To beat +\d\.\d{3} bits\/char: the character bigram model/)
    expect(stdout).toContain('Out of time after step 0 of 4000')
    expect(stdout).toContain(`train --resume --out ${out}`)
  })

  it.skipIf(process.platform === 'win32' && CUDNN_RNN_CONSOLE_EVENT === undefined).each(INTERRUPTIONS)(
    'saves on %s, exits with 130, and resumes after it',
    async (_, interrupt) => {
      const directory = await temporaryDirectory()
      const out = join(directory, 'run')
      const text = await writeSmallText(directory)
      const child = start(['train', '--text', text, '--out', out, '--steps', '1000000', ...TINY, '--json'])
      child.stdout.once('data', () => interrupt(child))
      const { exitCode, stdout } = await outcome(child)
      expect(exitCode).toBe(130)

      const done = stdout.trim().split('\n').length
      const metrics = await readFile(join(out, 'metrics.jsonl'), 'utf8')
      expect(metrics.trim().split('\n')).toHaveLength(done)
      const resumed = await run('train', '--resume', '--out', out, '--steps', String(done + 1), '--json')
      expect(JSON.parse(resumed.stdout.split('\n')[0]!).step).toBe(done + 1)
      expect((await run('sample', out, '--length', '5')).exitCode).toBe(0)
    },
  )

  it('saves, and ends quietly as by a signal, when its reader stops reading', async () => {
    const directory = await temporaryDirectory()
    const text = await writeSmallText(directory)
    const child = start([
      'train',
      '--text',
      text,
      '--out',
      join(directory, 'run'),
      '--steps',
      '1000000',
      ...TINY,
      '--json',
    ])
    child.stdout.once('data', () => child.stdout.destroy())
    expect(await outcome(child)).toMatchObject({ exitCode: 130, stderr: '' })
  })
})
