import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError, isJsonRecord, type Json } from '@cudnn-rnn/canonical/rules'
import { add, type Branch, concat, multiply } from './kinds/branch_layer.js'
import { timeDistributed } from './kinds/time_distributed.js'
import type { LayerDefinition } from './layer.js'
import type { LayerOptions } from './layer_options.js'
import { LAYER_TABLE } from './layer_table.js'

/** Layers of branches. */
const BRANCHED: Readonly<Record<string, (branches: readonly Branch[], options: LayerOptions) => LayerDefinition>> = {
  concat,
  add,
  multiply: (branches, options) => multiply(branches as never, options),
}

/** Deeper nesting is a trap. */
const DEEPEST = 32

/**
 * Layers from the output of `savedLayer`, which a user may have edited.
 *
 * @param given layers by their names, which replace described ones.
 * @throws RangeError `ERR_UNKNOWN_LAYER`
 */
export function layersFromConfig(
  layers: readonly unknown[],
  given: Readonly<Record<string, LayerDefinition>>,
  depth = 0,
): LayerDefinition[] {
  return layers.map((layer) => layerFromConfig(layer, given, depth))
}

function layerFromConfig(
  layer: unknown,
  given: Readonly<Record<string, LayerDefinition>>,
  depth: number,
): LayerDefinition {
  if (depth > DEEPEST) throw unknownLayer(`its branches and wrappers are more than ${DEEPEST} deep`)
  const { kind, name, config = {} } = asRecord(layer, 'a layer')
  const label = [name, kind].find((each) => typeof each === 'string') ?? describeValue(kind)
  if (Object.hasOwn(given, label)) return given[label]
  const named = typeof name === 'string' ? { name } : {}
  const options = asRecord(config, `the options of ${label}`)
  try {
    if (typeof kind === 'string' && Object.hasOwn(BRANCHED, kind)) {
      const branches = asArray(options['branches'], `the branches of ${label}`)
      return BRANCHED[kind](
        branches.map((branch) => layersFromConfig(asArray(branch, `a branch of ${label}`), given, depth + 1)),
        named,
      )
    }
    if (kind === 'timeDistributed') {
      const { layer: inner, layers = [inner], ...own } = options
      const made = layersFromConfig(asArray(layers, `the layers of ${label}`), given, depth + 1)
      return timeDistributed(own['steps'] === undefined ? made[0] : made, { ...own, ...named })
    }
    const row = typeof kind === 'string' ? LAYER_TABLE.get(kind) : undefined
    if (row !== undefined) return row.make({ ...options, ...named } as never) // each checks them
  } catch (cause) {
    if ((cause as { code?: unknown }).code === 'ERR_UNKNOWN_LAYER') throw cause
    throw unknownLayer(`layer ${label} cannot be made: ${(cause as Error).message}`, { cause, layer: label })
  }
  const hint =
    kind === 'rnn'
      ? `. Pass loadModel(…, { layers: { ${label}: rnn(new ${typeof options['cell'] === 'string' ? options['cell'] : 'Cell'}(…)) } })`
      : ''
  throw unknownLayer(`there must be a layer of its kind: current kind of ${label} is ${describeValue(kind)}${hint}`, {
    layer: label,
    kind,
  })
}

function asRecord(value: unknown, what: string): Json {
  if (isJsonRecord(value)) return value
  throw unknownLayer(`${what} must be an object: current value is ${describeValue(value)}`)
}

function asArray(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw unknownLayer(`${what} must be a list: current value is ${describeValue(value)}`)
}

function unknownLayer(rule: string, details: Readonly<Record<string, unknown>> = {}) {
  return codedRangeError('ERR_UNKNOWN_LAYER', `Cannot load a model as ${rule}`, details)
}
