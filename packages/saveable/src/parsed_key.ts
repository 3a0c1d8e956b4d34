import { DEFAULT_NAME, type StorageForm } from './storage_form.js'

/** The network that a key of a checkpoint belongs to. */
export interface ParsedKey {
  readonly form: StorageForm
  /** The saveable's name; for `cells` and `opaque` the variable scope, which may be empty. */
  readonly name: string
}

export interface SavedNetwork extends ParsedKey {
  readonly form: Exclude<StorageForm, 'opaque'>
}

const DEFAULT_KEY = /^(?<name>.+)\/layer_\d+\/(?:forward|backward)\/(?:weight|bias)_\d+$/
const TF12_KEY = /^(?<operation>(?:(?<scope>.+)\/)?[^/]*CudnnRNNParamsToCanonical(?:_\d+)?):\d+$/
const TF13_KEY = /^(?:(?<name>.+)\/)?multi_rnn_cell\/cell_\d+\/cudnn_compatible_(?:lstm|gru)_cell\/(?<variable>.+)$/
const CELL_KEY =
  /^(?:(?<name>.+)\/)?(?:rnn\/multi_rnn_cell\/cell_\d+|stack_bidirectional_rnn\/cell_\d+\/bidirectional_rnn\/[fb]w)\/(?:cudnn_compatible_(?:lstm|gru)|basic_rnn)_cell\/(?<variable>.+)$/
const OPAQUE_KEY = /^(?:(?<name>.+)\/)?opaque_kernel$/

/** The variables of TensorFlow's cells; an optimizer's slots of them end otherwise. */
const CELL_VARIABLE =
  /^(?:kernel|bias|projection\/kernel|gates\/(?:kernel|bias)|candidate\/(?:input|hidden)_projection\/(?:kernel|bias))$/
const TF13_BIAS = /^bias_cudnn[ _][01]$/

/** The scopes in which TensorFlow 1.3 saved: only it wrote both biases beside a cell's own. */
export function scopesOfRelease13(keys: readonly string[]): ReadonlySet<string> {
  const scopes = keys.flatMap((key) => {
    const { name = '', variable = '' } = TF13_KEY.exec(key)?.groups ?? {}
    return TF13_BIAS.test(variable) ? [name] : []
  })
  return new Set(scopes)
}

/**
 * The network that a key belongs to, by its name alone.
 *
 * @param of13 scopes whose cells are read as TensorFlow 1.3 wrote them: its names may be later releases' too.
 */
export function parseKey(key: string, of13: Pick<ReadonlySet<string>, 'has'>): ParsedKey | undefined {
  const canonical = DEFAULT_KEY.exec(key)?.groups
  if (canonical !== undefined) return { form: 'default', name: canonical['name'] ?? '' }
  const tf12 = TF12_KEY.exec(key)?.groups
  if (tf12 !== undefined) return { form: 'tf-1.2', name: tf12Name(tf12) }
  const tf13 = TF13_KEY.exec(key)?.groups
  if (tf13 !== undefined && of13.has(tf13['name'] ?? '')) {
    const { name = DEFAULT_NAME, variable = '' } = tf13
    return CELL_VARIABLE.test(variable) || TF13_BIAS.test(variable) ? { form: 'tf-1.3', name } : undefined
  }
  const cell = CELL_KEY.exec(key)?.groups
  if (cell !== undefined) {
    return CELL_VARIABLE.test(cell['variable'] ?? '') ? { form: 'cells', name: cell['name'] ?? '' } : undefined
  }
  const opaque = OPAQUE_KEY.exec(key)?.groups
  return opaque === undefined ? undefined : { form: 'opaque', name: opaque['name'] ?? '' }
}

/** Whether a key is of a network, also if that network has no such tensor. */
export function ownsKey({ form, name }: SavedNetwork, key: string): boolean {
  const of13 = { has: () => form === 'tf-1.3' }
  const parsed = parseKey(key, of13)
  if (parsed === undefined || parsed.name !== name) return false
  // TensorFlow 1.3 kept the keys of 1.2 for all but unidirectional LSTM and GRU.
  return parsed.form === form || (form === 'tf-1.3' && parsed.form === 'tf-1.2')
}

/** A scope for an operation of the usual name, its whole name for any other, as `tf12Scheme` takes them. */
function tf12Name({ operation = '', scope }: Record<string, string | undefined>): string {
  const isUsual = operation.split('/').at(-1) === 'CudnnRNNParamsToCanonical'
  return isUsual ? (scope ?? DEFAULT_NAME) : operation
}
