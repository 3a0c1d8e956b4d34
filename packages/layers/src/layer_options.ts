import {
  type AnyRule,
  checkedElsewhere,
  checkOptions,
  codedRangeError,
  codedTypeError,
  OBJECT,
  type OptionsOf,
  optional,
} from '@cudnn-rnn/canonical/rules'
import { describeValue } from '@cudnn-rnn/canonical'
import type { LayerDefinition } from './layer.js'
import type { LayerInitializer } from './layer_build.js'
import { type Signal, signalText } from './signal.js'

export const LAYER_OPTIONS = {
  /** Prefix of its variables in a checkpoint. Default: its kind, numbered as Keras does. */
  // `LayerBuild.nameOf` checks it: two layers of a model have different names.
  name: checkedElsewhere<string | undefined>(),
}

export interface LayerOptions extends OptionsOf<typeof LAYER_OPTIONS> {}

export const OWN_LAYER_OPTIONS = {
  ...LAYER_OPTIONS,
  /** Initial values of variables by their names, such as tensors of a weight file. Default: the layer's own. */
  initializers: optional<Readonly<Record<string, LayerInitializer>>>(OBJECT),
}

export interface OwnLayerOptions extends OptionsOf<typeof OWN_LAYER_OPTIONS> {}

/**
 * Checks the options of a layer.
 *
 * @returns the options as they were read here, once
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 */
export function checkLayerOptions<Rules extends Readonly<Record<string, AnyRule>>>(
  kind: string,
  options: OptionsOf<Rules>,
  rules: Rules,
): OptionsOf<Rules> {
  return checkOptions<object>(`make ${kind}`, options, rules) as OptionsOf<Rules>
}

/** The inputs that a layer takes. */
export interface InputRule {
  readonly isSequence?: boolean
  readonly isIds?: boolean
  readonly text: string
}

export const ANY_FLOATS: InputRule = { isIds: false, text: '[…,E]' }
export const SEQUENCE: InputRule = { isSequence: true, isIds: false, text: '[T,B,E]' }
export const CLASS_IDS: InputRule = { isIds: true, text: '[T,B] or [B] of class ids' }

/** Throws RangeError `ERR_LAYERS_DO_NOT_FIT` unless the layer takes `input`; a model adds the name of the layer before it. */
export function checkInputRule(definition: LayerDefinition, input: Signal, rule: InputRule): void {
  const fits =
    (rule.isSequence === undefined || rule.isSequence === input.isSequence) &&
    (rule.isIds === undefined || rule.isIds === (input.features === null))
  if (!fits) throw doesNotFit(definition, input, rule.text)
}

export function doesNotFit({ kind, name }: Pick<LayerDefinition, 'kind' | 'name'>, input: Signal, expected: string) {
  const layer = name === undefined ? kind : `${kind} ${name}`
  return codedRangeError(
    'ERR_LAYERS_DO_NOT_FIT',
    `Cannot build ${layer} as its input must be ${expected}: current input is ${signalText(input)}`,
    { layer, expected, actual: signalText(input) },
  )
}

/** Throws TypeError `ERR_NOT_A_LAYER`. */
export function checkIsLayer(action: string, layer: LayerDefinition): void {
  if (typeof layer?.build === 'function' && typeof layer.kind === 'string') return
  throw codedTypeError(
    'ERR_NOT_A_LAYER',
    `Cannot ${action} as every layer must be a result of dense(…), cudnnLSTM(…), …: current value is ${typeof layer === 'function' ? 'a function: call it' : describeValue(layer)}`,
    { value: layer },
  )
}

/** Throws TypeError `ERR_NOT_A_LAYER` unless `layers` is an array of layers. */
export function checkAreLayers(action: string, layers: readonly LayerDefinition[]): void {
  if (!Array.isArray(layers)) {
    throw codedTypeError(
      'ERR_NOT_A_LAYER',
      `Cannot ${action} as layers must be an array: current value is ${describeValue(layers)}`,
    )
  }
  for (const layer of layers) checkIsLayer(action, layer)
}
