import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { usesProgram } from '../built_program.js'
import { killedAndWhole } from '../killed_program.js'
import { run } from '../program_run.js'
import { temporaryDirectory, writeSmallText } from '../small_run.js'

usesProgram()

const SMALL = ['--units', '12', '--embedding', '4', '--batch', '3', '--time', '10', '--evaluate-every', '5']

describe('cudnn-rnn train', () => {
  it('prints a table against bigram and trigram, and writes a self-contained page', async () => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    const text = await writeSmallText(directory)
    const { exitCode, stdout } = await run('train', '--text', text, '--out', out, ...SMALL, '--steps', '10')
    expect(exitCode).toBe(0)
    for (const name of ['CudnnLSTM 1 × 12', 'trigram model', 'bigram model']) {
      expect(stdout).toMatch(new RegExp(`^${name} +\\d\\.\\d{3}`, 'm'))
    }
    const page = await readFile(join(out, 'report.html'), 'utf8')
    expect(page).not.toMatch(/<script|<link|\bsrc=|\bhref=|url\((?!#)|@import/)
    const { document } = parseHTML(page)
    expect([...document.querySelectorAll('h2')].map(({ textContent }) => textContent)).toEqual([
      'Result',
      'Sample',
      'Loss',
      'Details of the training',
      'Settings',
    ])
    // 400 characters, less the empty lines before the first word.
    expect(document.querySelector('blockquote')?.textContent).toMatch(/^\S.{390,400}/s)
    expect(document.querySelector('svg')?.textContent).toContain('trigram')
  })

  it('leaves nothing where the text is too short for one window', async () => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    const args = ['train', '--text', await writeSmallText(directory), ...SMALL, '--out', out, '--steps', '2']
    const refused = await run(...args, '--batch', '5000')
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('ERR_SEQUENCE_TOO_SHORT') })
    expect((await run(...args)).exitCode).toBe(0)
  })

  it('refuses a directory below a file before it prints anything', async () => {
    const directory = await temporaryDirectory()
    const text = await writeSmallText(directory)
    const refused = await run('train', '--text', text, '--out', join(text, 'run'), ...SMALL, '--steps', '2')
    const code = process.platform === 'win32' ? /EEXIST|ENOENT/ : /ENOTDIR/
    expect(refused).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringMatching(code) })
  })

  it('killed at random moments and resumed, equals an uninterrupted run', async () => {
    const directory = await temporaryDirectory()
    const text = await writeSmallText(directory)
    const args = ['train', '--text', text, ...SMALL, '--layers', '2', '--dropout', '0.3', '--steps', '24']
    const { whole, killed } = await killedAndWhole(args, directory)
    expect(killed.metrics).toEqual(whole.metrics)
    expect(whole.metrics).toHaveLength(24)
    const sampled = (name: string) => run('sample', join(directory, name), '--length', '40')
    expect(await sampled('killed')).toEqual(await sampled('whole'))
  }, 60_000)
})

describe('cudnn-rnn demo', () => {
  it('replaces the run of another demo, but none that train left', async () => {
    const directory = await temporaryDirectory()
    const args = ['--text', await writeSmallText(directory), ...SMALL, '--steps', '2', '--out']
    const [ofDemo, ofTrain] = [join(directory, 'demo'), join(directory, 'train')]
    for (let round = 0; round < 2; round++) expect((await run('demo', ...args, ofDemo)).exitCode).toBe(0)
    expect((await run('train', ...args, ofTrain)).exitCode).toBe(0)
    const before = await readFile(join(ofTrain, 'run.json'), 'utf8')
    const refused = await run('demo', ...args, ofTrain)
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('ERR_RUN_EXISTS') })
    expect(await readFile(join(ofTrain, 'run.json'), 'utf8')).toBe(before)
    expect((await run('demo', ...args, ofTrain, '--overwrite')).exitCode).toBe(0)
  })
})
