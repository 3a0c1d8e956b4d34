import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { importWeights } from '@cudnn-rnn/rnn'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { outcome, start, usesProgram } from '../built_program.js'
import { killedAndWhole } from '../killed_program.js'
import { run } from '../program_run.js'
import { SMALL_FORECAST, temporaryDirectory } from '../small_run.js'

usesProgram()

const SMALL = [...SMALL_FORECAST, ...'--batch 8 --evaluate-every 5 --dropout 0.2 --layers 2'.split(' ')]

async function writeSeries(
  directory: string,
  rows = 150,
  change = (line: string, _row: number) => line,
): Promise<string> {
  const lines = Array.from({ length: rows }, (_, k) => {
    const date = new Date(Date.UTC(2000, k, 1)).toISOString().slice(0, 10)
    return change(`${date},${(k / 4 + 5 * Math.sin((2 * Math.PI * k) / 6) + Math.sin(k * k)).toFixed(4)}`, k + 2)
  })
  const path = join(directory, 'series.csv')
  await writeFile(path, `month,value\n${lines.join('\n')}\n`)
  return path
}

describe('cudnn-rnn forecast', () => {
  it('prints a table against two baselines, and leaves page, forecast, metrics and checkpoints', async () => {
    const directory = await temporaryDirectory()
    const csv = await writeSeries(directory)
    const out = join(directory, 'run')
    const { exitCode, stdout, stderr } = await run('forecast', '--csv', csv, ...SMALL, '--steps', '20', '--out', out)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    for (const name of ['linear \\+ LSTM', 'linear part alone', 'linear regression', 'seasonal naive'])
      expect(stdout).toMatch(new RegExp(`^${name} +[\\d.]+`, 'm'))
    const files = [
      'best',
      'checkpoint',
      'events',
      'forecast.csv',
      'forecaster',
      'metrics.jsonl',
      'model-20.index',
      'report.html',
      'run.json',
    ]
    expect(await readdir(out)).toEqual(expect.arrayContaining(files))
    expect((await run('verify', out)).exitCode).toBe(0)
    const exported = await run('export', out, '--format', 'safetensors')
    expect(exported).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(`${out}.safetensors: lstm\nNot in the file: the linear`),
    })
    const { networks, unusedTensors } = await importWeights(`${out}.safetensors`)
    const best = await importWeights(join(out, 'best'))
    expect(best.networks.map(({ canonical }) => canonical)).toEqual([networks[0].canonical])
    expect(best.optimizer.length).toBeGreaterThan(0)
    expect(unusedTensors.map(({ name }) => name).sort()).toEqual(['lstm.dense.bias', 'lstm.dense.weight'])
    expect((await run('sample', out)).stderr).toMatch(/ERR_NO_RUN.*forecast/)
    const forecast = (await readFile(join(out, 'forecast.csv'), 'utf8')).trim().split('\n')
    expect(forecast.map((line) => line.split(',')[0])).toEqual([
      'date',
      '2012-07-01',
      '2012-08-01',
      '2012-09-01',
      '2012-10-01',
    ])
    const page = await readFile(join(out, 'report.html'), 'utf8')
    expect(page).not.toMatch(/<script|<link|\bsrc=|\bhref=|url\((?!#)|@import/)
    const { document } = parseHTML(page)
    expect([...document.querySelectorAll('h2')].map(({ textContent }) => textContent)).toEqual([
      'Forecast',
      'Backtest',
      'Loss',
      'Details of the training',
      'Settings',
    ])
    expect(document.querySelector('svg.wide')?.textContent).toContain('held out from here')
    // Loss, rate, norm, throughput, forecast and the weights of two layers.
    expect(document.querySelectorAll('svg.wide')).toHaveLength(7)
    expect(document.querySelectorAll('svg.narrow')).toHaveLength(7)
  })

  it('prints numbers for a constant series, in the page too', async () => {
    const directory = await temporaryDirectory()
    const csv = await writeSeries(directory, 150, (line) => line.replace(/,.*/, ',5'))
    const out = join(directory, 'run')
    const args = [
      '--season',
      '1',
      '--window',
      '8',
      '--horizon',
      '4',
      '--held-out',
      '20',
      '--units',
      '6',
      '--steps',
      '5',
    ]
    const { exitCode, stdout } = await run('forecast', '--csv', csv, ...args, '--out', out)
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^linear \+ LSTM +0\.000 +0\.000 +±0\.0 %$/m)
    expect(stdout + (await readFile(join(out, 'report.html'), 'utf8'))).not.toContain('NaN')
  })

  it.each([';', '\t', '|'])('detects columns that are separated by %j', async (delimiter) => {
    const directory = await temporaryDirectory()
    const csv = await writeSeries(directory)
    await writeFile(csv, (await readFile(csv, 'utf8')).replaceAll(',', delimiter))
    const args = ['forecast', '--csv', csv, '--value', 'value', ...SMALL, '--steps', '5', '--json']
    expect((await run(...args, '--out', join(directory, 'run'))).exitCode).toBe(0)
  })

  it('recommends a baseline and changes if the network loses', async () => {
    const directory = await temporaryDirectory()
    // A straight line: linear regression is exact.
    const csv = await writeSeries(directory, 150, (line, row) => line.replace(/,.*/, `,${row}`))
    const args = ['forecast', '--csv', csv, ...SMALL, '--steps', '6', '--out', join(directory, 'run')]
    const { stdout } = await run(...args, '--season', '12', '--window', '8')
    expect(stdout).toMatch(
      /^Advice +(linear regression|seasonal naive) has the smaller error: use it instead, or try$/m,
    )
    expect(stdout).toMatch(/^ +--window 24: the network reads 8 steps, less than two seasons of 12$/m)
    expect(stdout).toContain('(calibration) choose the best step')
    expect(stdout).toMatch(/^Executor {2}.{1,80}$/m)
    const sampled = await run('sample', join(directory, 'run'))
    expect(sampled.stderr).toMatch(/\[ERR_NO_RUN\].*this is a forecast run/)
  })

  it('killed at random moments and resumed, equals an uninterrupted run', async () => {
    const directory = await temporaryDirectory()
    const csv = await writeSeries(directory)
    const args = ['forecast', '--csv', csv, ...SMALL, '--steps', '24', '--patience', '100', '--cell', 'gru']
    const { whole, killed } = await killedAndWhole(args, directory)
    expect(killed.metrics).toEqual(whole.metrics)
    expect(killed.result).toBe(whole.result)
  }, 60_000)

  // On Windows kill ends a program without a signal: bin.test.ts sends it an event of the console.
  it.skipIf(process.platform === 'win32')('resumes after Ctrl-C, and refuses changed data', async () => {
    const directory = await temporaryDirectory()
    const csv = await writeSeries(directory)
    const out = join(directory, 'run')
    const child = start([
      'forecast',
      '--csv',
      csv,
      ...SMALL,
      '--steps',
      '100000',
      '--patience',
      '100000',
      '--json',
      '--out',
      out,
    ])
    child.stdout.once('data', () => child.kill('SIGINT'))
    expect((await outcome(child)).exitCode).toBe(130)
    await appendFile(csv, '2012-07-01,1\n')
    const { exitCode, stderr } = await run('forecast', '--resume', '--out', out)
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringContaining('[ERR_DATA_CHANGED]') })
  })

  it.each([
    ['ERR_DATA_RAGGED', (line: string, row: number) => (row === 7 ? `${line},9` : line), /row 7/],
    ['ERR_DATA_VALUE', (line: string, row: number) => (row === 7 ? '2000-06-01,x' : line), /row 7, column value/],
    [
      'ERR_DATA_VALUE',
      (line: string, row: number) => (row === 9 ? '2000-08-01,Infinity' : line),
      /row 9, column value/,
    ],
    ['ERR_VALUE_COLUMN', (line: string) => line.replace(/,.*/, ',text'), /--value/],
    [
      'ERR_DATA_VALUE',
      (line: string, row: number) => (row === 9 ? line.replace(/^.*,/, '2000-01-01,') : line),
      /row 9/,
    ],
  ])('refuses hostile data with %s', async (code, change, message) => {
    const directory = await temporaryDirectory()
    const csv = await writeSeries(directory, 150, change)
    const { exitCode, stdout, stderr } = await run('forecast', '--csv', csv, '--out', join(directory, 'run'))
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toContain(`[${code}]`)
    expect(stderr).toMatch(message)
  })
})
