import {
  isBytes,
  checkArguments,
  isResponse,
  methods,
  RESPONSE,
  RESPONSE_FIELDS,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import { BLOB, type BlobLike, type ByteSource, blobSource, memorySource } from './byte_source.js'
import { CheckpointError, ioError } from '../errors.js'

/** The used members of a `Response` of `fetch`. Its DOM type is not named, as not every project has it. */
export interface ResponseLike {
  readonly ok: boolean
  readonly status: number
  readonly url: string
  blob(): Promise<BlobLike>
}

/** One file in any form: its bytes, a browser's `File` or `Blob`, a `Response` of `fetch`, random access to it. */
export type ByteInput = Uint8Array | BlobLike | ResponseLike | ByteSource

const BYTE_SOURCE = methods('a ByteSource, a Uint8Array, a Blob or a Response', 'read', 'close')

const NOT_FOUND = new Set([404, 410])

/**
 * A source over the body of a `Response`, which is read as a whole; undefined if the server does not have the file (status
 * 404 or 410).
 *
 * @param name in messages.
 * @throws CheckpointError `ERR_CHECKPOINT_IO` for any other status that is not a success, and for a body that ends early or was
 *   read before; TypeError `ERR_INVALID_ARGUMENT`
 * @example
 * ```ts
 * import { responseSource } from '@cudnn-rnn/rnn/checkpoint'
 *
 * const source = await responseSource('model.bin', new Response(Uint8Array.of(1, 2, 3, 4)))
 * console.log(source?.size) // 4
 * console.log(await responseSource('none.bin', new Response(null, { status: 404 }))) // undefined
 * ```
 */
export async function responseSource(name: string, response: ResponseLike): Promise<ByteSource | undefined> {
  checkArguments('make a byte source', { name, response }, { name: TEXT, response: RESPONSE })
  checkArguments('make a byte source', { response }, { response: RESPONSE_FIELDS })
  if (NOT_FOUND.has(response.status)) return undefined
  if (!response.ok) {
    throw new CheckpointError('ERR_CHECKPOINT_IO', `Cannot fetch file as the server answered ${response.status}`, {
      path: name,
    })
  }
  const blob = await response.blob().catch((cause: unknown) => {
    throw ioError('fetch file', name, cause)
  })
  return blobSource(name, blob)
}

/** The source of a file in any form; undefined if the file does not exist. Throws as {@link responseSource}. */
export async function byteSourceOf(
  action: string,
  name: string,
  input: ByteInput | undefined,
): Promise<ByteSource | undefined> {
  if (input === undefined) return undefined
  if (isBytes(input)) return memorySource(name, input)
  if (BLOB.find(input, 'source') === undefined) return blobSource(name, input as BlobLike)
  if (isResponse(input)) return responseSource(name, input)
  checkArguments(action, { source: input }, { source: BYTE_SOURCE })
  return input as ByteSource
}
