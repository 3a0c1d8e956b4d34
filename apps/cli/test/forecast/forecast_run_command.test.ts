import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openBackend } from '@cudnn-rnn/rnn'
import { loadForecaster } from '@cudnn-rnn/rnn/tasks'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { usesProgram } from '../built_program.js'
import { run } from '../program_run.js'
import { refusalOf } from '../refusal.js'
import { temporaryDirectory } from '../small_run.js'

usesProgram()

describe('cudnn-rnn forecast --run', () => {
  const columns = ['--value', 'sold', '--series', 'store', '--covariates', 'temp', '--known-ahead', 'price']

  /** Two stores with gaps: fields without a value, and rows that are not there. */
  async function writeSales(directory: string, ahead: number): Promise<string> {
    const lines = ['north', 'south'].flatMap((store, place) =>
      Array.from({ length: 120 + ahead }, (_, k) => {
        const date = new Date(Date.UTC(2020, 0, 1 + k)).toISOString().slice(0, 10)
        const price = 5 + (k % 5 === 2 ? 1 : 0)
        const sold = (1 + place) * (20 + 3 * Math.sin((2 * Math.PI * k) / 7) - 2 * price)
        const isThere = k < 120 && k % 19 !== 7
        return k === 60
          ? []
          : [`${date};${store};${isThere ? sold.toFixed(3) : ''};${price};${k % 9 === 4 ? 'NA' : k % 9}`]
      }).flat(),
    )
    const path = join(directory, `sales-${ahead}.csv`)
    await writeFile(path, `date;store;sold;price;temp\n${lines.join('\n')}\n`)
    return path
  }

  it('forecasts several series with gaps and covariates, as JSON, CSV and a picture', async () => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    const csv = await writeSales(directory, 0)
    const sizes = ['--window', '14', '--horizon', '3', '--held-out', '12', '--units', '4', '--steps', '6']
    const trained = await run('forecast', '--csv', csv, ...columns, ...sizes, '--out', out, '--evaluate-every', '3')
    expect({ exitCode: trained.exitCode, stderr: trained.stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(trained.stdout).toMatch(
      /^Series .*2 series, 240 values from 2020-01-01 to 2020-04-29, 1\d of them missing$/m,
    )
    expect(trained.stdout).toMatch(/season 7/)
    expect(trained.stdout).toMatch(/^Forecast +none: rows of the next 3 steps need price, and an empty sold$/m)

    const ahead = await writeSales(directory, 3)
    const used = await run('forecast', '--run', out, '--csv', ahead, '--json', '--out', join(directory, 'used'))
    expect({ exitCode: used.exitCode, stderr: used.stderr }).toEqual({ exitCode: 0, stderr: '' })
    const { series, check } = JSON.parse(used.stdout)
    expect(series.map(({ name }: { name: string }) => name)).toEqual(['north', 'south'])
    for (const { steps, values, low, high } of series) {
      expect(steps).toEqual(['2020-04-30', '2020-05-01', '2020-05-02'])
      for (const k of [0, 1, 2]) expect(low[k] <= values[k] && values[k] <= high[k]).toBe(true)
    }
    expect(check.mae).toBeLessThan(check.naiveMae)
    const lines = (await readFile(join(directory, 'used/forecast.csv'), 'utf8')).trim().split('\n')
    expect(lines[0]).toBe('store,date,forecast,low,high')
    expect(lines[1]).toMatch(/^north,2020-04-30,/)
    expect(lines).toHaveLength(7)
    const { document } = parseHTML(await readFile(join(directory, 'used/report.html'), 'utf8'))
    // Each series with its two covariates.
    expect(document.querySelectorAll('svg.wide')).toHaveLength(6)

    const shown = await run('forecast', '--run', out, '--csv', ahead)
    expect(shown.stdout).toMatch(/^north +2020-04-30 +[\d.]+ +[\d.]+ +[\d.]+$/m)
    expect(shown.stdout).toContain(join(out, 'forecast-sales-3', 'report.html'))
    // The library takes the run as it is.
    using backend = await openBackend('reference')
    using forecaster = await loadForecaster(backend, out)
    expect(forecaster.record.covariates.map(({ name }) => name)).toEqual(['temp', 'price'])

    const refused = (...args: string[]) => refusalOf('forecast', '--run', out, ...args)
    expect(await refused('--csv', csv)).toContain('[ERR_COVARIATES]')
    expect(await refused()).toContain('[ERR_INVALID_OPTION]')
    expect(await refused('--csv', csv, '--steps', '9')).toContain('[ERR_USE_OPTION]')
    expect(await refused('--csv', csv, '--series', 'shop')).toMatch(/ERR_DATA_COLUMN.*column shop/)
    const write = async (text: string) => {
      await writeFile(join(directory, 'other.csv'), text)
      return join(directory, 'other.csv')
    }
    expect(await refused('--csv', await write(''))).toContain('[ERR_DATA_EMPTY]')
    expect(await refused('--csv', await write('date,store,sold,price,temp\n'))).toContain('[ERR_DATA_EMPTY]')
    expect(await refused('--csv', await write('date,store,sold\n2020-01-01,a,1\n'))).toMatch(/ERR_DATA_COLUMN.*temp/)
    const few = Array.from({ length: 9 }, (_, k) => `2020-01-0${k + 1},a,${k < 5 ? k : ''},5,1`)
    const tooShort = await write(`date,store,sold,price,temp\n${few.join('\n')}\n`)
    expect(await refused('--csv', tooShort)).toContain('[ERR_SERIES_TOO_SHORT]')
    expect(await refusalOf('classify', '--run', out, csv)).toMatch(/ERR_NO_RUN.*this is a forecast run/)
    expect(await refusalOf('forecast', '--run', join(directory, 'none'), '--csv', csv)).toContain('[ERR_NO_RUN]')
  })
})
