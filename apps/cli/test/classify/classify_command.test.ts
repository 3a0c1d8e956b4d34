import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importWeights, openBackend } from '@cudnn-rnn/rnn'
import { loadTextClassifier } from '@cudnn-rnn/rnn/tasks'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { outcome, start, usesProgram } from '../built_program.js'
import { killedAndWhole } from '../killed_program.js'
import { run } from '../program_run.js'
import { refusalOf } from '../refusal.js'
import { temporaryDirectory } from '../small_run.js'

usesProgram()

const SMALL = ['--units', '8', '--embedding', '6', '--batch', '16', '--evaluate-every', '10', '--learning-rate', '0.02']

/** The class is the order of two words, which a bag of words ignores. */
async function writeTexts(directory: string, change = (line: string, _row: number) => line): Promise<string> {
  const lines = Array.from({ length: 200 }, (_, n) => {
    const filler = Array.from({ length: n % 6 }, (_, k) => `filler${(n * k) % 4}`).join(' ')
    const pair = n % 2 === 0 ? ['rise', 'fall'] : ['fall', 'rise']
    const text = `${n % 3 === 0 ? filler : ''} ${pair[0]} ${filler} ${pair[1]}`
    return change(JSON.stringify({ text, label: n % 2 === 0 ? 'up first' : 'down first' }), n + 1)
  })
  const path = join(directory, 'texts.jsonl')
  await writeFile(path, `${lines.join('\n')}\n`)
  return path
}

describe('cudnn-rnn classify', () => {
  it('learns the order of words, and shows the result in table, confusion matrix and page', async () => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    const jsonl = await writeTexts(directory)
    const { exitCode, stdout, stderr } = await run(
      'classify',
      '--jsonl',
      jsonl,
      ...SMALL,
      '--steps',
      '120',
      '--out',
      out,
    )
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(/^bidirectional GRU +100\.0 % +0 of 40 +1\.000$/m)
    expect(stdout).toMatch(/^bag of words, logistic +[4-6]\d\.\d %/m)
    expect(stdout).toMatch(/^is up first +0 +20 +100\.0 %$/m)
    expect(stdout).toContain('The network beats the bag of words by')
    const { document } = parseHTML(await readFile(join(out, 'report.html'), 'utf8'))
    // Two confusion matrices, four parts of the training's details, and the weights of two directions.
    expect(document.querySelectorAll('h3')).toHaveLength(8)
    // Loss, rate, norm, throughput, and the weights of two directions.
    expect(document.querySelectorAll('svg.wide')).toHaveLength(6)
    const exported = await run('export', out, '--format', 'onnx', '--network', 'gru')
    expect(exported).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(`${out}.onnx: gru\nNot in the file: the words`),
    })
    const { networks, unusedTensors } = await importWeights(`${out}.onnx`)
    expect(networks.map(({ descriptor }) => descriptor.direction)).toEqual(['bidirectional'])
    expect(unusedTensors.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['embedding', 'dense_kernel', 'dense_bias']),
    )
  })

  it('prints the accuracy of every classifier with --json', async () => {
    const directory = await temporaryDirectory()
    const jsonl = await writeTexts(directory)
    const args = ['classify', '--jsonl', jsonl, ...SMALL, '--steps', '4', '--json', '--out', join(directory, 'run')]
    const { classifiers } = JSON.parse((await run(...args)).stdout.trim().split('\n').at(-1)!)
    for (const { matrix, accuracy, macroF1 } of classifiers) {
      const counts: number[][] = matrix.counts
      const total = counts.flat().reduce((sum, count) => sum + count, 0)
      expect(accuracy).toBeCloseTo(counts.reduce((sum, row, label) => sum + row[label], 0) / total, 10)
      expect(macroF1).toBeGreaterThanOrEqual(0)
    }
    expect(classifiers).toHaveLength(3)
  })

  it('killed at random moments and resumed, equals an uninterrupted run', async () => {
    const directory = await temporaryDirectory()
    const jsonl = await writeTexts(directory)
    const more = ['--layers', '2', '--dropout', '0.2', '--steps', '20', '--patience', '100', '--evaluate-every', '2']
    const { whole, killed } = await killedAndWhole(['classify', '--jsonl', jsonl, ...SMALL, ...more], directory)
    expect(killed.metrics).toEqual(whole.metrics)
    expect(killed.result).toBe(whole.result)
  }, 60_000)

  it.each([
    ['ERR_DATA_SYNTAX', (line: string, row: number) => (row === 7 ? line.slice(0, -1) : line), /row 7/],
    [
      'ERR_DATA_COLUMN',
      (line: string, row: number) => (row === 9 ? '{"label":"x"}' : line),
      /row 9 .* text: .* label\. Name it/,
    ],
    [
      'ERR_DATA_VALUE',
      (line: string, row: number) => (row === 9 ? '{"text":"x","label":null}' : line),
      /value 9, field label/,
    ],
    ['ERR_DATA_VALUE', (line: string, row: number) => (row === 9 ? '17' : line), /value 9, field text/],
    ['ERR_CLASSES', (line: string) => line.replace('up first', 'down first'), /down first 200/],
  ])('refuses hostile data with %s', async (code, change, message) => {
    const directory = await temporaryDirectory()
    const jsonl = await writeTexts(directory, change)
    const { exitCode, stdout, stderr } = await run('classify', '--jsonl', jsonl, '--out', join(directory, 'run'))
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toContain(`[${code}]`)
    expect(stderr).toMatch(message)
  })

  it('reads no member that every object inherits as a field', async () => {
    const directory = await temporaryDirectory()
    const args = [
      '--jsonl',
      await writeTexts(directory),
      '--label-field',
      'constructor',
      '--out',
      join(directory, 'run'),
    ]
    const { exitCode, stderr } = await run('classify', ...args)
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/ERR_DATA_VALUE.*field constructor of .* has none/)
  })
})

describe('cudnn-rnn classify --run', () => {
  it('classifies files, folders, tables, lines and standard input with a run of a folder of texts', async () => {
    const directory = await temporaryDirectory()
    const [out, texts] = [join(directory, 'run'), join(directory, 'texts')]
    for (const [label, words] of [
      ['good', 'fine warm fresh'],
      ['bad', 'cold stale slow'],
    ] as const) {
      await mkdir(join(texts, label), { recursive: true })
      const write = (n: number) => writeFile(join(texts, label, `${n}.txt`), `it was ${words.split(' ')[n % 3]} today`)
      await Promise.all(Array.from({ length: 15 }, (_, n) => write(n)))
    }
    await writeFile(join(texts, 'README'), 'it was fresh')
    const begun = await run('classify', '--folder', texts, ...SMALL, '--steps', '40', '--out', out)
    expect({ exitCode: begun.exitCode, stderr: begun.stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(begun.stdout).toMatch(/^Use it .* classify --run /m)

    const write = async (name: string, text: string) => {
      await writeFile(join(directory, name), text)
      return join(directory, name)
    }
    const classified = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await run('classify', '--run', out, '--json', ...args)
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      return stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    }
    const [one] = await classified(await write('one.txt', 'today it was stale'))
    expect(one).toMatchObject({ source: 'one.txt', label: 'bad' })
    expect(one.probabilities.bad + one.probabilities.good).toBeCloseTo(1, 5)
    const whole = await classified(texts)
    expect(whole.at(-1)).toMatchObject({
      accuracy: 1,
      matrix: {
        labels: ['bad', 'good'],
        counts: [
          [15, 0],
          [0, 15],
        ],
      },
    })
    expect(whole).toHaveLength(32)
    const csv = await write('mail.csv', 'text;label\n"so fresh; so warm";good\n"slow";good\n')
    expect((await classified(csv)).at(-1)).toMatchObject({ accuracy: 0.5 })
    const jsonl = await write('mail.jsonl', '{"text":"fine"}\n')
    expect((await classified(jsonl, csv)).slice(0, 2).map(({ label }) => label)).toEqual(['good', 'good'])
    const lines = await write('lines.txt', 'fine\n\ncold and slow\n')
    expect((await classified(lines, '--format', 'lines')).map(({ source, label }) => [source, label])).toEqual([
      ['lines.txt:1', 'good'],
      ['lines.txt:3', 'bad'],
    ])
    const piped = start(['classify', '--run', out, '-', '--json'])
    const ended = outcome(piped)
    piped.stdin.end('warm and fine')
    expect(JSON.parse((await ended).stdout)).toMatchObject({ source: '-', label: 'good' })
    expect(await readdir(out)).not.toContain('classified')

    const shown = await run('classify', '--run', out, csv)
    expect(shown.stdout).toMatch(/^mail\.csv:2 +good +[\d.]+ % +good$/m)
    expect(shown.stdout).toMatch(/^Accuracy +50\.0 % of the 2 texts with a class of the run$/m)
    expect(await readFile(join(out, 'classified/classes.csv'), 'utf8')).toMatch(
      /^source,class,bad,good\nmail.csv:2,good,/,
    )
    const page = await readFile(join(out, 'classified/report.html'), 'utf8')
    expect(page).toContain('<b>1 of 2</b> texts are')
    expect(parseHTML(page).document.querySelectorAll('.texts tr')).toHaveLength(2)
    using backend = await openBackend('reference')
    using classifier = await loadTextClassifier(backend, out)
    // The command chose its executor; executors agree to 1e-6.
    expect((await classifier.classify(['today it was stale']))[0]).toEqual({
      label: 'bad',
      probability: expect.closeTo(one.probability, 5),
      probabilities: { bad: expect.closeTo(one.probabilities.bad, 5), good: expect.closeTo(one.probabilities.good, 5) },
    })

    const refused = (...args: string[]) => refusalOf('classify', ...args)
    expect(await refused('--run', out)).toContain('[ERR_DATA_EMPTY]')
    expect(await refused('--run', out, await write('empty.txt', ' \n'))).toContain('[ERR_DATA_EMPTY]')
    expect(await refused('--run', out, await write('empty.csv', ''))).toContain('[ERR_DATA_EMPTY]')
    expect(await refused('--run', out, await write('other.csv', 'a,b\n1,2\n'))).toMatch(
      /ERR_DATA_COLUMN.*text: current ones are a, b/,
    )
    expect(await refused('--run', out, await write('other.jsonl', '{"review":"x"}\n'))).toMatch(
      /ERR_DATA_COLUMN.*row 1 must have .*text: current ones are review\. Name it by --text-field/,
    )
    expect(await refused('--run', out, 'win money')).toMatch(/ERR_DATA_IO.*standard input, which is named -$/)
    expect(await refused('--run', out, csv, '--words', '9')).toContain('[ERR_USE_OPTION]')
    expect(await refused(csv)).toContain('[ERR_INVALID_OPTION]')
    expect(await refused('--csv', csv, '--jsonl', jsonl)).toContain('[ERR_INVALID_OPTION]')
    expect(await refused('--run', texts, csv)).toContain('[ERR_NO_RUN]')
    expect(await refusalOf('forecast', '--run', out, '--csv', csv)).toMatch(/ERR_NO_RUN.*this is a classification run/)
    await writeFile(join(directory, 'binary.txt'), Uint8Array.of(0xff, 0xfe, 0))
    expect(await refused('--run', out, join(directory, 'binary.txt'))).toContain('[ERR_TEXT_FILE]')
  })
})
