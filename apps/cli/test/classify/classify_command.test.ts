import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importWeights } from '@cudnn-rnn/rnn'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { run, usesProgram } from '../built_program.js'
import { killedAndWhole } from '../killed_program.js'
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
    // Two confusion matrices, and the weights of two directions.
    expect(document.querySelectorAll('h3')).toHaveLength(4)
    // Loss, rate, norm, throughput, and the weights of two directions.
    expect(document.querySelectorAll('svg.wide')).toHaveLength(6)
    const exported = await run('export', out, '--format', 'onnx')
    expect(exported).toMatchObject({ exitCode: 0, stdout: `${out}.onnx: gru\n` })
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
      expect(accuracy).toBeCloseTo(counts.reduce((sum, row, label) => sum + row[label]!, 0) / total, 10)
      expect(macroF1).toBeGreaterThanOrEqual(0)
    }
    expect(classifiers).toHaveLength(3)
  })

  it('killed at random moments and resumed, equals an uninterrupted run', async () => {
    const directory = await temporaryDirectory()
    const jsonl = await writeTexts(directory)
    const more = ['--layers', '2', '--dropout', '0.2', '--steps', '40', '--patience', '100', '--evaluate-every', '4']
    const { whole, killed } = await killedAndWhole(['classify', '--jsonl', jsonl, ...SMALL, ...more], directory, 3)
    expect(killed.metrics).toEqual(whole.metrics)
    expect(killed.result).toBe(whole.result)
  }, 60_000)

  it.each([
    ['ERR_DATA_SYNTAX', (line: string, row: number) => (row === 7 ? line.slice(0, -1) : line), /row 7/],
    ['ERR_DATA_VALUE', (line: string, row: number) => (row === 9 ? '{"label":"x"}' : line), /value 9, field text/],
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
})
