import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { importKeras, type LayersModel } from '../../src/index.js'

type Rows = readonly Rows[] | number

interface Case {
  /** In base64. */
  readonly file: string
  readonly inputs: readonly Rows[]
  readonly outputs: readonly Rows[]
}

// Made by fixtures/layers/make_masks.py. Keras names layers of refused models `conv1d_1`, and their rule is behind the colon.
const PACK = join(import.meta.dirname, '../../../../fixtures/layers/masks.json.gz')
const cases = Object.entries(JSON.parse(gunzipSync(readFileSync(PACK)).toString()) as Readonly<Record<string, Case>>)

const shapeOf = (rows: Rows): number[] => (typeof rows === 'number' ? [] : [rows.length, ...shapeOf(rows[0])])
const numbersIn = (rows: Rows): number[] => (typeof rows === 'number' ? [rows] : rows.flatMap(numbersIn))
/** Sequences with their steps first. */
const timeMajor = (rows: Rows, isSequence: boolean): Rows => {
  if (!isSequence || typeof rows === 'number') return rows
  return Array.from(rows[0] as readonly Rows[], (_, t) => rows.map((row) => (row as readonly Rows[])[t]))
}

async function expectOutputs(model: LayersModel, { inputs, outputs }: Case): Promise<void> {
  const given = model.graph.inputs.map(({ name, signal }, k) => {
    const rows = timeMajor(inputs[k], true)
    const array = signal.features === null ? Int32Array : Float64Array
    return [name, { data: array.from(numbersIn(rows)), shape: shapeOf(rows) }] as const
  })
  const results = Object.values(await model.predict(Object.fromEntries(given)))
  for (const [k, { data, shape }] of results.entries()) {
    const rows = timeMajor(outputs[k], shape.length === 3)
    expect(shape).toEqual(shapeOf(rows))
    for (const [at, value] of numbersIn(rows).entries()) expect(data[at]).toBeCloseTo(value, 5)
  }
}

describe('a mask', () => {
  test.each(cases.filter(([name]) => !name.includes(':')))('that %s is that of Keras', async (_, each) => {
    using backend = openReferenceBackend({ dtype: 'float64' })
    using model = await importKeras(backend, Buffer.from(each.file, 'base64'))
    await expectOutputs(model, each)
    using again = await importKeras(backend, await model.export('keras'))
    await expectOutputs(again, each)
  })

  test.each(cases.filter(([name]) => name.includes(':')))(
    'is refused where it has no counterpart: %s',
    async (name, each) => {
      const [layer, rule] = name.split(': ')
      using backend = openReferenceBackend()
      await expect(importKeras(backend, Buffer.from(each.file, 'base64'))).rejects.toThrow(
        coded('ERR_UNKNOWN_LAYER', { message: expect.stringMatching(new RegExp(`${layer}(_\\d+)? \\(.* as ${rule}`)) }),
      )
    },
  )
})
