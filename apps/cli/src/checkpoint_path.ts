import { existsSync } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { READ_WITHOUT_WAITING } from '@cudnn-rnn/checkpoint/files'
import { latestCheckpoint } from '@cudnn-rnn/rnn'
import { openWeightFile } from '@cudnn-rnn/rnn/interop'
import { codedRangeError } from './coded_error.js'

/**
 * The prefix of the checkpoint that a person names: a prefix, one of its files, or a directory, which means the latest in it,
 * or the variables of a SavedModel.
 *
 * @throws RangeError `ERR_NO_CHECKPOINT` for a directory without one, and for a file of another format; the errors of
 *   `openWeightFile` for a file of no known format
 */
export async function checkpointPrefix(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined)
  const prefix = path.replace(/\.(?:index|meta|data-\d{5}-of-\d{5})$/, '')
  if (!found?.isDirectory()) {
    if (found?.isFile() && prefix === path && !existsSync(`${path}.index`)) await checkIsTable(path)
    return prefix
  }
  const latest = await latestCheckpoint(path)
  if (latest !== null) return latest
  const variables = join(path, 'variables/variables')
  if (existsSync(`${variables}.index`)) return variables
  throw noCheckpoint(path, `directory ${path} must hold one: name a prefix, such as ${path}/model-100`)
}

/**
 * Refuses a file that cannot be a checkpoint of V1, which is one file: it would be called damaged. Such a file begins with the
 * prefix length of its first key, 0.
 */
async function checkIsTable(path: string): Promise<void> {
  // A file that cannot be read is refused when it is opened.
  if ((await firstByte(path).catch(() => 0)) === 0) return
  const { format, close } = await openWeightFile(path)
  await close()
  throw noCheckpoint(path, `${path} must be one: it is a file in the format ${format}, which import reads`)
}

async function firstByte(path: string): Promise<number | undefined> {
  let file: FileHandle | undefined
  try {
    file = await open(path, READ_WITHOUT_WAITING)
    const { bytesRead, buffer } = await file.read(new Uint8Array(1))
    return bytesRead === 0 ? undefined : buffer[0]
  } finally {
    await file?.close()
  }
}

function noCheckpoint(path: string, rule: string): RangeError {
  return codedRangeError('ERR_NO_CHECKPOINT', `Cannot open a checkpoint as ${rule}`, { path })
}
