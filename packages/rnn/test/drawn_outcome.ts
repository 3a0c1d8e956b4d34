import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { importWeights } from '@cudnn-rnn/interop'
import { importKeras } from '@cudnn-rnn/layers'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { hasErrorCode } from '../src/index.js'
import { differenceOf, distance, type Found, TOLERANCE } from './oracle_outcome.js'
import type { OracleCall, OracleCase, Pack } from './oracle_pack.js'

/** `agreed` and `refused` are right. The others are silent errors, or refusals of a file that has only one reading. */
export type DrawnOutcome = 'agreed' | 'refused' | `${'differs' | 'lost' | 'extra' | 'misrefused'}: ${string}`

/**
 * Imports a drawn file and compares every network with the numbers of its library, in any order: each call of a reading must
 * be computed by a network, and each network must compute a call.
 */
export async function drawnOutcome(pack: Pack, oracle: OracleCase): Promise<DrawnOutcome> {
  const isFolder = typeof oracle.file.at !== 'number'
  const folder = isFolder ? await mkdtemp(join(tmpdir(), 'drawn-')) : undefined
  try {
    const input = folder === undefined ? pack.file(oracle) : await unpacked(pack, oracle, folder)
    if (oracle.graph) return await graphOutcome(pack, oracle, input)
    return oracle.model ? await modelOutcome(pack, oracle, input) : await networksOutcome(pack, oracle, input)
  } catch (error) {
    if (!hasErrorCode(error)) throw error
    const refusal = `${error.code} ${error.message}`
    const isRight = oracle.mayRefuse !== undefined && new RegExp(oracle.mayRefuse, 's').test(refusal)
    return isRight ? 'refused' : `misrefused: ${refusal}`
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true })
  }
}

async function unpacked(pack: Pack, oracle: OracleCase, folder: string): Promise<string> {
  for (const [path, bytes] of pack.files(oracle)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), bytes)
  }
  return join(folder, oracle.extension)
}

async function modelOutcome(pack: Pack, oracle: OracleCase, file: Uint8Array | string): Promise<DrawnOutcome> {
  using backend = openReferenceBackend({ dtype: 'float64' })
  using model = await importKeras(backend, file, { restarts: true })
  for (const { input, output, ids } of oracle.readings![0]!) {
    const { data, shape } = pack.array(input)
    const y = await model.predict({ data: ids ? Int32Array.from(data) : data, shape })
    const difference = distance(pack.array(output!), y)
    if (!(difference <= TOLERANCE)) return `differs: by ${difference}`
  }
  return 'agreed'
}

async function graphOutcome(pack: Pack, { graph }: OracleCase, file: Uint8Array | string): Promise<DrawnOutcome> {
  using backend = openReferenceBackend({ dtype: 'float64' })
  using model = await importKeras(backend, file, { restarts: true })
  const { inputs, outputs } = graph!
  const given = Object.entries(inputs).map(([name, input]) => {
    const { data, shape } = pack.array(input)
    return [name, { data: input.ids ? Int32Array.from(data) : data, shape }] as const
  })
  const resultsOf = async (each: typeof model) => {
    const x = given[0]![1]
    if (each.graph.isChain) return { output: await each.predict(x) }
    if (given.length > 1 || outputs.length > 1) return await each.predict(Object.fromEntries(given))
    // A chain may be written as a functional model, whose input and output have other names.
    const [output] = Object.values(await each.predict({ [each.graph.inputs[0]!.name]: x }))
    return { output: output! }
  }
  const results = await resultsOf(model)
  for (const [k, output] of outputs.entries()) {
    const difference = distance(pack.array(output), Object.values(results)[k]!)
    if (!(difference <= TOLERANCE)) return `differs: output ${k} by ${difference}`
  }
  using again = await importKeras(backend, await model.export('keras'))
  if (!isDeepStrictEqual(await resultsOf(again), results)) return 'differs: exported and read again'
  return 'agreed'
}

async function networksOutcome(pack: Pack, oracle: OracleCase, file: Uint8Array | string): Promise<DrawnOutcome> {
  const { networks, cells } = await importWeights(file, oracle.options)
  const groups = groupsOf([...networks, ...cells])
  if (groups.length === 0) return 'lost: no networks'
  const outcomes: DrawnOutcome[] = []
  for (const calls of oracle.readings!) outcomes.push(await readingOutcome(pack, calls, groups))
  return outcomes.includes('agreed') ? 'agreed' : outcomes[0]!
}

async function readingOutcome(
  pack: Pack,
  calls: readonly OracleCall[],
  groups: readonly (readonly Found[])[],
): Promise<DrawnOutcome> {
  const matched = new Set<readonly Found[]>()
  for (const call of calls) {
    const differences: number[] = []
    for (const group of groups) {
      const isOfSize = inputSizeOf(group[0]!) === call.input.shape[2]
      differences.push(isOfSize ? await differenceOf(pack, call, [group]) : Number.POSITIVE_INFINITY)
    }
    const match = differences.findIndex((difference) => difference <= TOLERANCE)
    if (match === -1) return `differs: by ${differences}`
    matched.add(groups[match]!)
  }
  const extra = groups.find((group) => !matched.has(group))
  return extra === undefined ? 'agreed' : `extra: ${extra.map(({ name }) => name)}`
}

function inputSizeOf(network: Found): number {
  return 'cell' in network ? network.inputSize : network.descriptor.inputSize
}

/** Networks alone, and the cells of both directions of a layer together. */
function groupsOf(found: readonly Found[]): Found[][] {
  const groups = new Map<string, Found[]>()
  for (const network of found) {
    const name = network.name.replace(/\/(?:forward|backward)$/, '')
    groups.set(name, [...(groups.get(name) ?? []), network])
  }
  return [...groups.values()]
}
