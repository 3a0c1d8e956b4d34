import { listIn } from '@cudnn-rnn/canonical/rules'
import { corrupt } from '../errors.js'

/**
 * The content of the file `checkpoint`, a CheckpointState message as text
 * (tensorflow/python/training/checkpoint_state.proto):
 *
 *     model_checkpoint_path: "model-300"
 *     all_model_checkpoint_paths: "model-200"
 *     all_model_checkpoint_paths: "model-300"
 *     all_model_checkpoint_timestamps: 1500000000.5
 *     last_preserved_timestamp: 1500000000
 */
export type CheckpointState = {
  /** The newest checkpoint: as written, relative to the file's directory unless absolute. */
  readonly modelCheckpointPath: string
  /** Oldest first, the newest included. */
  readonly allModelCheckpointPaths: readonly string[]
  /** Seconds since 1970, one per path; empty in files of old releases. */
  readonly allModelCheckpointTimestamps: readonly number[]
  readonly lastPreservedTimestamp: number | undefined
}

export function formatCheckpointState(state: CheckpointState): string {
  const lines = [
    `model_checkpoint_path: ${quote(state.modelCheckpointPath)}`,
    ...state.allModelCheckpointPaths.map((path) => `all_model_checkpoint_paths: ${quote(path)}`),
    ...state.allModelCheckpointTimestamps.map((time) => `all_model_checkpoint_timestamps: ${time}`),
  ]
  if (state.lastPreservedTimestamp !== undefined)
    lines.push(`last_preserved_timestamp: ${state.lastPreservedTimestamp}`)
  return `${lines.join('\n')}\n`
}

/** Throws `ERR_CHECKPOINT_CORRUPT` for text that is not a checkpoint state. */
export function parseCheckpointState(text: string, path: string): CheckpointState {
  const values = new Map<string, string[]>()
  for (const [number, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue
    const match = /^\s*(\w+)\s*:\s*(?:"((?:[^"\\]|\\.)*)"|(-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?))\s*$/i.exec(line)
    if (match === null) throw corrupt('checkpoint state', `line ${number + 1} is damaged`, { path })
    const [, field = '', quoted, bare = ''] = match
    const value = quoted === undefined ? bare : unquote(quoted)
    listIn(values, field).push(value)
  }
  const newest = values.get('model_checkpoint_path')?.at(-1)
  if (newest === undefined) throw corrupt('checkpoint state', 'it names no checkpoint', { path })
  const preserved = values.get('last_preserved_timestamp')?.at(-1)
  return {
    modelCheckpointPath: newest,
    allModelCheckpointPaths: values.get('all_model_checkpoint_paths') ?? [newest],
    allModelCheckpointTimestamps: (values.get('all_model_checkpoint_timestamps') ?? []).map(Number),
    lastPreservedTimestamp: preserved === undefined ? undefined : Number(preserved),
  }
}

/** A string as protobuf's text format writes it: bytes outside printable ASCII in octal. */
function quote(text: string): string {
  let quoted = ''
  for (const byte of new TextEncoder().encode(text)) {
    const character = String.fromCharCode(byte)
    if (character === '"' || character === '\\') quoted += `\\${character}`
    else if (byte >= 0x20 && byte < 0x7f) quoted += character
    else quoted += `\\${byte.toString(8).padStart(3, '0')}`
  }
  return `"${quoted}"`
}

const ESCAPES: ReadonlyMap<string, number> = new Map([
  ['n', 10],
  ['r', 13],
  ['t', 9],
])

function unquote(quoted: string): string {
  const bytes: number[] = []
  const encoder = new TextEncoder()
  for (const [token] of quoted.matchAll(/\\[0-7]{1,3}|\\x[\da-f]{1,2}|\\.|[^\\]+/gi)) {
    if (!token.startsWith('\\')) for (const byte of encoder.encode(token)) bytes.push(byte)
    else if (/^\\[0-7]/.test(token)) bytes.push(Number.parseInt(token.slice(1), 8) & 0xff)
    else if (/^\\x/i.test(token)) bytes.push(Number.parseInt(token.slice(2), 16))
    else bytes.push(ESCAPES.get(token.charAt(1)) ?? token.charCodeAt(1))
  }
  return new TextDecoder().decode(Uint8Array.from(bytes))
}
