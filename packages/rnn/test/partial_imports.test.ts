import { basename } from 'node:path'
import { importWeights, openWeightFile, type WeightFile } from '@cudnn-rnn/interop'
import { expect, it } from 'vitest'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { hasErrorCode } from '../src/index.js'
import { type OracleCase, Pack } from './oracle_pack.js'

type Part = (tensors: WeightFile['tensors'], name: string) => WeightFile['tensors']

/** The tensors of a file without one, or with one more axis. */
const PARTS: Readonly<Record<string, Part>> = {
  missing: (tensors, name) => tensors.filter((tensor) => tensor.name !== name),
  stacked: (tensors) => tensors.map((tensor) => ({ ...tensor, shape: [2, ...tensor.shape] })),
}

/** A file, or those of a folder. */
function inputOf(pack: Pack, oracle: OracleCase) {
  if (typeof oracle.file.at === 'number') return pack.file(oracle)
  return pack.files(oracle).map(([path, bytes]) => new File([Uint8Array.from(bytes)], basename(path)))
}

it.each(['torch', 'names', 'flax', 'tf'])(
  'importWeights refuses a network without one of its matrices or with one more axis: drawn models, %s',
  { timeout: 120_000 },
  async (source) => {
    const pack = new Pack(`drawn_${source}`)
    const wrong: string[] = []
    let files = 0
    for (const oracle of pack.cases) {
      const file = await openWeightFile(inputOf(pack, oracle))
      const whole = await importWeights(file, oracle.options).catch(() => undefined)
      const read = [...(whole?.networks ?? []), ...(whole?.cells ?? [])]
      // Without a bias it may be another network of its library, and the objects of TensorFlow 2 a dense layer.
      const other = file.format === 'tensorflow' ? /bias|recurrent_kernel$/ : /bias|(?:^|[./_])b/
      const names = read.flatMap(({ tensorNames }) => tensorNames).filter((name) => !other.test(name))
      for (const [kind, part] of Object.entries(PARTS)) {
        for (const name of kind === 'missing' ? names : names.slice(0, 1)) {
          files++
          const outcome = await outcomeOf({ ...file, tensors: part(file.tensors, name) }, oracle)
          if (!outcome.startsWith('ERR_')) wrong.push(`${oracle.name}: ${kind} ${name}: ${outcome}`)
        }
      }
      await file.close()
    }
    measured({ 'files with a part of a network': files, 'of them accepted': wrong.length })
    expect(wrong).toEqual([])
  },
)

async function outcomeOf(file: WeightFile, { options }: OracleCase): Promise<string> {
  try {
    const { networks, cells } = await importWeights(file, options)
    return [...networks, ...cells].map(({ name, notes }) => `${name} ${notes}`).join(' and ') || 'an empty list'
  } catch (error) {
    if (hasErrorCode(error)) return String(error.code)
    throw error
  }
}
