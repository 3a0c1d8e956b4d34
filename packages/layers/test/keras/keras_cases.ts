import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { type Backend, DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { openWasmBackend } from '@cudnn-rnn/wasm'
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

const shapeOf = (rows: Rows): number[] => (typeof rows === 'number' ? [] : [rows.length, ...shapeOf(rows[0]!)])
const numbersIn = (rows: Rows): number[] => (typeof rows === 'number' ? [rows] : rows.flatMap(numbersIn))
/** Sequences with their steps first; pictures are sequences of their columns. */
const timeMajor = (rows: Rows, isSequence: boolean): Rows => {
  if (!isSequence || typeof rows === 'number') return rows
  return Array.from(rows[0] as readonly Rows[], (_, t) => {
    return rows.map((row) => {
      const step = (row as readonly Rows[])[t] as Rows
      return typeof step === 'number' ? step : numbersIn(step)
    })
  })
}

/** Keras computes in float32. */
const DECIMALS = { float64: 5, float32: 4 } as const

async function expectOutputs(
  model: LayersModel,
  { inputs, outputs }: Case,
  dtype: FloatDType = 'float64',
): Promise<void> {
  const given = model.graph.inputs.map(({ name, signal }, k) => {
    const rows = timeMajor(inputs[k] as Rows, signal.isSequence)
    const { array: floats } = DTYPES[dtype]
    const array = signal.features === null ? Int32Array : floats
    return [name, { data: array.from(numbersIn(rows)), shape: shapeOf(rows) }] as const
  })
  const named = Object.fromEntries(given)
  const isOne = given.length === 1 && outputs.length === 1
  const results = isOne ? [await model.predict(given[0]![1])] : Object.values(await model.predict(named))
  for (const [k, { data, shape }] of results.entries()) {
    const rows = timeMajor(outputs[k] as Rows, shape.length === 3)
    expect(shape).toEqual(shapeOf(rows))
    for (const [at, value] of numbersIn(rows).entries()) expect(data[at]).toBeCloseTo(value, DECIMALS[dtype])
  }
}

/**
 * Tests of the models in a pack of fixtures/layers. Keras names layers of refused models `conv1d_1`, and their rule is behind the
 * colon.
 */
export function describeCases(what: string, pack: string): void {
  const file = join(import.meta.dirname, '../../../../fixtures/layers', pack)
  const cases = Object.entries(JSON.parse(gunzipSync(readFileSync(file)).toString()) as Readonly<Record<string, Case>>)
  describe(what, () => {
    test.each(cases.filter(([name]) => !name.includes(':')))('%s', async (_, each) => {
      using backend = openReferenceBackend({ dtype: 'float64' })
      using model = await importKeras(backend, Buffer.from(each.file, 'base64'))
      await expectOutputs(model, each)
      using again = await importKeras(backend, await model.export('keras'))
      await expectOutputs(again, each)
    })

    test.each([
      ['cpu', openCpuBackend],
      ['wasm', openWasmBackend],
    ] as const)('on %s', async (_, open) => {
      const backend: Backend = await open()
      for (const [name, each] of cases) {
        if (name.includes(':')) continue
        using model = await importKeras(backend, Buffer.from(each.file, 'base64'))
        await expectOutputs(model, each, 'float32')
      }
      backend.dispose()
    })

    test.each(cases.filter(([name]) => name.includes(':')))('is refused: %s', async (name, each) => {
      const [layer, rule] = name.split(': ')
      using backend = openReferenceBackend()
      await expect(importKeras(backend, Buffer.from(each.file, 'base64'))).rejects.toThrow(
        coded('ERR_UNKNOWN_LAYER', { message: expect.stringMatching(new RegExp(`${layer}(_\\d+)? \\(.* as ${rule}`)) }),
      )
    })
  })
}
